package results_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waggle/operator"
	"waggle/operator/results"
)

const shown = `waggle/api/bob by bob: 2 files
Write below.

diff --git a/src/a.go b/src/a.go
index 1..2 100644
--- a/src/a.go
+++ b/src/a.go
@@ -10,4 +10,4 @@ func a() {
 	one
-	two
+	TWO
 
 	three
diff --git "a/na\tme" "b/na\tme"
new file mode 100644
--- /dev/null
+++ "b/na\tme"
@@ -0,0 +1,2 @@
+--- x
++++ y
`

// TestComments finds comments with file, line and the quoted line, whatever else an editor did.
func TestComments(t *testing.T) {
	t.Parallel()
	insert := func(pairs ...string) string {
		text := shown
		for i := 0; i < len(pairs); i += 2 {
			text = strings.Replace(text, pairs[i]+"\n", pairs[i]+"\n"+pairs[i+1]+"\n", 1)
		}
		return text
	}
	for _, c := range []struct {
		name, edited string
		want         []results.Comment
	}{
		{"nothing", shown, []results.Comment{}},
		{"empty lines and stripped spaces", strings.ReplaceAll(shown, "\n \n", "\n\n") + "\n\n\n", []results.Comment{}},
		{"windows", strings.ReplaceAll(shown, "\n", "\r\n"), []results.Comment{}},
		{"added, deleted, context", insert("+	TWO", "why?", "-	two", "was good\n\nand short", "	three", "x"), []results.Comment{
			{File: "src/a.go", Line: 11, Deleted: true, Quoted: "-	two", Text: "was good\n\nand short"},
			{File: "src/a.go", Line: 11, Quoted: "+	TWO", Text: "why?"},
			{File: "src/a.go", Line: 13, Quoted: " 	three", Text: "x"}}},
		{"of a file, of all", insert("index 1..2 100644", "- a whole file", "Write below.", "all of it"), []results.Comment{
			{Text: "all of it"}, {File: "src/a.go", Text: "- a whole file"}}},
		{"lines that look like headers", insert("++++ y", "c"), []results.Comment{{File: "na\tme", Line: 2, Quoted: "++++ y", Text: "c"}}},
		{"above all", "first\n" + shown, []results.Comment{{Text: "first"}}},
		{"lines are gone", "+	TWO\nstill here\n", []results.Comment{{File: "src/a.go", Line: 11, Quoted: "+	TWO", Text: "still here"}}},
		{"changed line", strings.Replace(shown, "+	TWO\n", "+	Two\n", 1), []results.Comment{{File: "src/a.go", Line: 11, Deleted: true, Quoted: "-	two", Text: "+	Two"}}},
	} {
		if d := cmp.Diff(c.want, results.Comments(shown, c.edited)); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}

// CommentsAt makes the same comments from the numbers of lines as Comments from text below them.
func TestCommentsAt(t *testing.T) {
	shown := "diff --git a/a.go b/a.go\n--- a/a.go\n+++ b/a.go\n@@ -1,2 +1,2 @@\n package a\n-var x = 1\n+var x = 2\n"
	got := results.CommentsAt(shown, map[int]string{6: " two? ", 5: "gone", -1: "all", 3: "", 0: "file"})
	want := []results.Comment{{Text: "all"}, {File: "a.go", Text: "file"}, {File: "a.go", Line: 2, Deleted: true, Quoted: "-var x = 1", Text: "gone"},
		{File: "a.go", Line: 2, Quoted: "+var x = 2", Text: "two?"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Comments that name their place are those of the line, and one that names none is an error with the files.
func TestCommentsOf(t *testing.T) {
	t.Parallel()
	got, err := results.CommentsOf(shown, []string{"src/a.go:11: why: two?", "src/a.go:-11: it was good", "src/a.go: a whole file", "na\tme:2: odd", "src/a.go:11: and more"})
	want := []results.Comment{{File: "src/a.go", Text: "a whole file"}, {File: "src/a.go", Line: 11, Deleted: true, Quoted: "-	two", Text: "it was good"},
		{File: "src/a.go", Line: 11, Quoted: "+	TWO", Text: "why: two?\nand more"}, {File: "na\tme", Line: 2, Quoted: "++++ y", Text: "odd"}}
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("%v\n%s", err, d)
	}
	for _, text := range []string{"src/a.go:99: x", "src/a.go:11:", "src/a.go:-12: x", "b.go:1: x", "x", ""} {
		if cs, err := results.CommentsOf(shown, []string{text}); err == nil || !strings.Contains(err.Error(), "src/a.go") {
			t.Errorf("%q: %+v, %v", text, cs, err)
		}
	}
	if got := results.Numbered(shown); !strings.Contains(got, "\n   -11 -	two\n    11 +	TWO\n") || strings.Count(got, "\n") != strings.Count(shown, "\n") {
		t.Errorf("%s", got)
	}
}

// TestSome: a line names ten of many files, and counts the others.
func TestSome(t *testing.T) {
	files := strings.Split("a b c d e f g h i j k l", " ")
	e := &results.PlaceError{Text: "x:1: why", Files: files}
	if got := e.Error(); !strings.HasSuffix(got, "its files are a, b, c, d, e, f, g, h, i, j and 2 more") {
		t.Error(got)
	}
	if got := results.Some(files[:2]); got != "a, b" {
		t.Error(got)
	}
	if got := operator.VisibleOutput("FAIL\tx\n\x1b"); got != "FAIL    x\n\\x1b" {
		t.Errorf("%q", got)
	}
}
