package waggle_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestArchSleeps: a test that sleeps says on the line which clock it waits for. In a
// synctest bubble that costs no time; a real clock is that of another process, of the
// system or of a slow writer. What this program does is waited for by a channel.
func TestArchSleeps(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != "."):
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		says := map[int]string{}
		for _, group := range file.Comments {
			for _, c := range group.List {
				says[fset.Position(c.Pos()).Line] = strings.TrimPrefix(c.Text, "// ")
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.SelectorExpr)
			if !ok || call.Sel.Name != "Sleep" {
				return true
			}
			if pkg, ok := call.X.(*ast.Ident); !ok || pkg.Name != "time" {
				return true
			}
			at := fset.Position(call.Pos())
			if why := says[at.Line]; !strings.HasPrefix(why, "real clock: ") && !strings.HasPrefix(why, "the bubble's clock") {
				t.Errorf("%s sleeps: wait for what is to happen, or say behind it \"// real clock: whose\" or \"// the bubble's clock\"", at)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
