package waggle_test

import (
	"go/ast"
	"strings"
	"testing"
)

// TestArchSleeps: a test that sleeps says on the line which clock it waits for. In a synctest
// bubble that costs no time; a real clock is that of another process, of the system or of a slow
// writer. A test waits with a channel for the work of this program.
func TestArchSleeps(t *testing.T) {
	eachFile(t, func(f archFile) {
		if !f.test {
			return
		}
		says := map[int]string{}
		for _, group := range f.syntax.Comments {
			for _, c := range group.List {
				says[f.fset.Position(c.Pos()).Line] = strings.TrimPrefix(c.Text, "// ")
			}
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			call, ok := n.(*ast.SelectorExpr)
			if !ok || call.Sel.Name != "Sleep" {
				return true
			}
			if pkg, ok := call.X.(*ast.Ident); !ok || pkg.Name != "time" {
				return true
			}
			at := f.fset.Position(call.Pos())
			if why := says[at.Line]; !strings.HasPrefix(why, "real clock: ") && !strings.HasPrefix(why, "the bubble's clock") {
				t.Errorf("%s sleeps: wait for what is to happen, or say behind it \"// real clock: whose\" or \"// the bubble's clock\"", at)
			}
			return true
		})
	})
}
