package house_test

import (
	"go/ast"
	"go/token"
	"strconv"
	"testing"
)

// TestArchExecutables: a test writes a program that it runs with testenv.Executable or
// testenv.WriteFile. Written with os.WriteFile, it is "text file busy" by chance, when another test
// of the package forks while the file is open.
func TestArchExecutables(t *testing.T) {
	eachTest(t, func(f archFile) {
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if ok && writesFile(call) && executable(call.Args[2]) {
				t.Errorf("%s writes a program with os.WriteFile: use testenv.Executable", f.fset.Position(call.Pos()))
			}
			return true
		})
	})
}

// writesFile reports a call of os.WriteFile.
func writesFile(call *ast.CallExpr) bool {
	pkg, name := selected(call.Fun)
	return pkg == "os" && name == "WriteFile" && len(call.Args) == 3
}

// executable reports a mode, written as a number, by which somebody may run the file.
func executable(mode ast.Expr) bool {
	lit, ok := mode.(*ast.BasicLit)
	if !ok || lit.Kind != token.INT {
		return false
	}
	bits, err := strconv.ParseUint(lit.Value, 0, 32)
	return err == nil && bits&0o111 != 0
}
