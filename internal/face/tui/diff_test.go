package tui_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"waggle/internal/face/tui"
	"waggle/operator/inspect"
	"waggle/operator/results"
)

const filesText = `diff --git a/a.go b/a.go
index 1..2 100644
--- a/a.go
+++ b/a.go
@@ -1,3 +1,3 @@
 package a
--- x
+++ y
diff --git a/b.sh b/b.sh
new file mode 100755
index 0..1
--- /dev/null
+++ b/b.sh
@@ -0,0 +1 @@
+make
diff --git a/c.png b/c.png
deleted file mode 100644
index 1..0
Binary files a/c.png and /dev/null differ
diff --git "a/\\303\\274.txt" "b/\\303\\274.txt"
old mode 100644
new mode 100755
`

func ofFiles() *results.Diff {
	return &results.Diff{Team: "api", Member: "bob", Path: "/tree", Text: filesText,
		Files: []results.FileChange{{Path: "a.go", Added: 1, Deleted: 1}, {Path: "b.sh", Added: 1}, {Path: "c.png", Binary: true}, {Path: "ü.txt"}}}
}

// A diff has a head for each file: its name, what became of it and its lines. The lines of git that say the same are left
// out, and the arrows pass over them; those of the file never are.
func TestDiffByFile(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, d *desk) {
		p.Resize(80, 40)
		d.diff = ofFiles()
		p.Man(tui.Crew{Members: []tui.Member{member("bob", inspect.StateIdle, "")}})
		p.Click(50, 1) // the tab Diff
		p.Wait(second)
		var got []string
		for _, l := range strings.Split(p.Text(), "\n")[3:20] {
			_, right, _ := strings.Cut(l, "│ ")
			got = append(got, strings.TrimRight(right, " "))
		}
		if want := "\n  a.go  +1 -1\n  @@ -1,3 +1,3 @@\n   package a\n  --- x\n  +++ y\n\n  b.sh  new, a program  +1 -0\n  @@ -0,0 +1 @@\n  +make\n\n  c.png  deleted  binary\n\n  ü.txt  +0 -0\n  old mode 100644\n  new mode 100755\n"; strings.Join(got, "\n") != want {
			t.Errorf("%q", strings.Join(got, "\n"))
		}
		if frame := p.Frame(); !strings.Contains(frame, "\x1b[1ma.go\x1b[m\x1b[32m  +1\x1b[m\x1b[31m -1\x1b[m") || !strings.Contains(frame, "\x1b[31m--- x") {
			t.Errorf("%q", frame)
		}
		p.Keys("enter")
		var at []string
		for range 13 {
			p.Keys("down")
			for _, l := range strings.Split(p.Text(), "\n")[:37] { // without what can be typed
				if text, ok := strings.CutPrefix(l, "> "); ok {
					at = append(at, strings.TrimRight(text, " "))
				}
			}
		}
		down := strings.Join(at, "|")
		if down != "a.go  +1 -1|@@ -1,3 +1,3 @@| package a|--- x|+++ y|b.sh  new, a program  +1 -0|@@ -0,0 +1 @@|+make|c.png  deleted  binary|ü.txt  +0 -0|old mode 100644|new mode 100755|new mode 100755" {
			t.Error(down)
		}
		for range 4 {
			p.Keys("up")
		}
		shows(t, p, "> +make")
	})
}

// A diff without end is cut with a line that says so.
func TestLongDiff(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, d *desk) {
		d.diff = ofFiles()
		d.diff.Text = diffText + strings.Repeat("+line\n", 12000)
		p.Man(tui.Crew{Members: []tui.Member{member("bob", inspect.StateIdle, "")}})
		p.Click(50, 1)
		p.Wait(second)
		for range 700 {
			p.Keys("pgdown")
		}
		shows(t, p, "… and 2010 lines that have no room here:")
		short := *d.diff
		short.Text, short.More = filesText, true
		d.diff = &short
		p.Wait(30 * second)
		if s := ansi.Strip(fmt.Sprint(p.Text())); !strings.Contains(s, "… the diff is cut here: the files are") {
			t.Error(s)
		}
	})
}
