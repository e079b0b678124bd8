package house_test

import (
	"go/ast"
	"testing"
)

// TestArchOneOpener: a team's journals are opened with home.Dir.OpenJournal, which knows when an empty one is broken:
// what one command says of a journal every other says too.
func TestArchOneOpener(t *testing.T) {
	eachFile(t, func(f archFile) {
		if f.test || f.pkg == "home" {
			return
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			open, ok := n.(*ast.SelectorExpr)
			if !ok || open.Sel.Name != "Open" {
				return true
			}
			if of, ok := open.X.(*ast.CallExpr); ok {
				if journals, ok := of.Fun.(*ast.SelectorExpr); ok && journals.Sel.Name == "Journals" {
					t.Errorf("%s opens a journal of a team by itself: home.Dir.OpenJournal", f.fset.Position(open.Pos()))
				}
			}
			return true
		})
	})
}
