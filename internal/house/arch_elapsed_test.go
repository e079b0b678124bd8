package house_test

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

// TestArchElapsed: no test asserts how long something took, as a busy machine makes it fail:
// testenv.Within logs a time, and checks it in the full run. A comparison of elapsed time says on its line
// that it is "the bubble's clock" (synctest's), or "real clock: " and why lateness does no harm there:
// a lower bound, a loop that tries again.
func TestArchElapsed(t *testing.T) {
	eachTest(t, func(f archFile) {
		says := f.says()
		for _, decl := range f.syntax.Decls {
			took := elapsed{} // the names that the function gives to an elapsed time
			ast.Inspect(decl, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.AssignStmt:
					took.assign(n)
				case *ast.BinaryExpr:
					at := f.fset.Position(n.Pos())
					if comparison(n.Op) && (took.in(n.X) || took.in(n.Y)) && !saysClock(says[at.Line]) {
						t.Errorf("%s compares elapsed time: use testenv.Within, count, or say behind it \"// the bubble's clock\" or \"// real clock: why it may be late\"", at)
					}
				}
				return true
			})
		}
	})
}

// elapsed has the names of variables that hold an elapsed time.
type elapsed map[string]bool

// assign notes the variables that are set to an elapsed time.
func (took elapsed) assign(n *ast.AssignStmt) {
	for i, to := range n.Lhs {
		if id, ok := to.(*ast.Ident); ok && len(n.Lhs) == len(n.Rhs) && took.in(n.Rhs[i]) {
			took[id.Name] = true
		}
	}
}

// in reports whether an expression has an elapsed time in it.
func (took elapsed) in(e ast.Expr) (found bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.CallExpr:
			if fn, ok := n.Fun.(*ast.Ident); ok && fn.Name == "len" {
				return false
			}
		case *ast.SelectorExpr:
			pkg, name := selected(n)
			found = found || pkg == "time" && name == "Since"
		case *ast.Ident:
			found = found || took[n.Name]
		}
		return !found
	})
	return found
}

func comparison(op token.Token) bool {
	switch op {
	case token.LSS, token.LEQ, token.GTR, token.GEQ, token.EQL, token.NEQ:
		return true
	}
	return false
}

// saysClock reports a comment that says which clock a line of a test waits for.
func saysClock(comment string) bool {
	return strings.HasPrefix(comment, "real clock: ") || strings.HasPrefix(comment, "the bubble's clock")
}

// says has the comment that ends each line.
func (f archFile) says() map[int]string {
	says := map[int]string{}
	for _, group := range f.syntax.Comments {
		for _, c := range group.List {
			says[f.fset.Position(c.Pos()).Line] = strings.TrimPrefix(c.Text, "// ")
		}
	}
	return says
}
