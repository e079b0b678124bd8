package house_test

import (
	"go/ast"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// screenSmokes are the tests of the full screen that need a terminal and run in the usual run: at most five. What needs none is
// tested on the model in memory (internal/face/tui), and all else on a terminal is of the full run.
var screenSmokes = []string{
	"TestPanic",         // what runs beside the keys panics: the terminal is as it was
	"TestScreenAlone",   // it opens without a team, and leaves the page of waggle; a pipe and a dumb terminal get the page
	"TestScreenAttends", // the screen and its lines open, attend, and end by q, Ctrl-C and SIGKILL
	"TestTopKilled",     // the next waggle repairs the terminal of a screen that was killed
}

// TestArchScreenSmokes: no other test of the full screen with a terminal is of the usual run.
func TestArchScreenSmokes(t *testing.T) {
	screen := regexp.MustCompile(`^internal/face/(cli/(top|attends|journeys)[^/]*|tui/[^/]*)_test\.go$`)
	terminal := []string{"newTmux", "onTerminal", "newShellSession", "startTerminal"}
	pty := []string{"Open", "Start", "StartWithSize"} // of that package
	var found []string
	eachFile(t, func(f archFile) {
		if !screen.MatchString(filepath.ToSlash(f.path)) {
			return
		}
		for _, d := range f.syntax.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv != nil || !strings.HasPrefix(fn.Name.Name, "Test") {
				continue
			}
			needs, long := false, false
			ast.Inspect(fn, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				if to, ok := call.Fun.(*ast.Ident); ok {
					needs = needs || slices.Contains(terminal, to.Name)
				}
				of, name := selected(call.Fun)
				needs = needs || of == "pty" && slices.Contains(pty, name)
				long = long || of == "testenv" && (name == "Long" || name == "Soak")
				return true
			})
			if needs && !long {
				found = append(found, fn.Name.Name)
			}
		}
	})
	slices.Sort(found)
	if !slices.Equal(found, screenSmokes) || len(found) > 5 {
		t.Errorf("tests of the screen with a terminal in the usual run: %q, not %q and at most five; others call testenv.Long", found, screenSmokes)
	}
}
