package house_test

import (
	"go/ast"
	"testing"
)

// TestArchSleeps: a test that sleeps says on the line which clock it waits for. In a synctest
// bubble that costs no time; a real clock is that of another process, of the system or of a slow
// writer. A test waits with a channel for the work of this program.
func TestArchSleeps(t *testing.T) {
	eachTest(t, func(f archFile) {
		says := f.says()
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if pkg, name := selected(n); pkg != "time" || name != "Sleep" {
				return true
			}
			at := f.fset.Position(n.Pos())
			if !saysClock(says[at.Line]) {
				t.Errorf("%s sleeps: wait for what is to happen, or say behind it \"// real clock: whose\" or \"// the bubble's clock\"", at)
			}
			return true
		})
	})
}
