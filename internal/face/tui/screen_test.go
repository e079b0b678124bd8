package tui_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/vt"
	"pgregory.net/rapid"

	"waggle/internal/face/tui"
	"waggle/internal/test/testenv"
	_ "waggle/internal/test/testenv/seeded"
)

// TestDiffering: the bytes that Differing writes between two frames make a terminal show the second frame,
// whatever it showed before the first.
func TestDiffering(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w, h := 12, 6
		line := rapid.StringMatching("[a-z\u4e16 ]{0,6}")
		screenOf := func(name string) string {
			n := rapid.IntRange(1, h).Draw(rt, name+" lines")
			lines := make([]string, n)
			for i := range lines {
				l := line.Draw(rt, fmt.Sprint(name, i))
				if rapid.Bool().Draw(rt, "styled") {
					l = "\x1b[1m" + l + "\x1b[m"
				}
				lines[i] = l
			}
			return strings.Join(lines, "\n")
		}
		term := vt.NewEmulator(w, h)
		defer term.Close()
		write := func(s string) {
			if _, err := term.WriteString(s); err != nil {
				rt.Fatal(err)
			}
		}
		one, two := screenOf("one"), screenOf("two")
		write("garbage\r\nbefore")
		write(tui.Differing("", one))
		write(tui.Differing(one, two))
		fresh := vt.NewEmulator(w, h)
		defer fresh.Close()
		if _, err := fresh.WriteString(tui.Differing("", two)); err != nil {
			rt.Fatal(err)
		}
		if got, want := term.String(), fresh.String(); got != want {
			rt.Fatalf("%q instead of %q", got, want)
		}
		for i, l := range strings.Split(two, "\n") {
			plain := strings.NewReplacer("\x1b[1m", "", "\x1b[m", "").Replace(l)
			if got := strings.Split(fresh.String(), "\n")[i]; strings.TrimRight(got, " ") != strings.TrimRight(plain, " ") {
				rt.Fatalf("line %d is %q instead of %q", i, got, plain)
			}
		}
		if two != "" && tui.Differing(two, two) != "" {
			rt.Fatal("the same frame is written twice")
		}
	})
}

// TestTitleOnce: the title of the window is written with the first frame and when it changes.
func TestTitleOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	f, err := os.Create(path)
	testenv.Must(t, err)
	tui.Shown(f, [2]string{"a", "waggle"}, [2]string{"b", "waggle"}, [2]string{"b", "waggle: 1 needs you"}, [2]string{"c", "waggle: 1 needs you"})
	testenv.Must(t, f.Close())
	out, err := os.ReadFile(path)
	testenv.Must(t, err)
	if got := regexp.MustCompile("\x1b]2;[^\x07]*\x07").FindAllString(string(out), -1); !slices.Equal(got, []string{"\x1b]2;waggle\x07", "\x1b]2;waggle: 1 needs you\x07"}) {
		t.Errorf("%q", got)
	}
}
