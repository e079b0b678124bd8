package waggle_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoHTMLEscapes: no program code writes JSON with HTML escapes. A command
// `a && b <c>` that was stored as `a \u0026\u0026 b \u003cc\u003e` is not shown, found
// or hashed as what runs.
func TestNoHTMLEscapes(t *testing.T) {
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		p = filepath.ToSlash(p)
		dir := path.Dir(p)
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && p != "." || d.Name() == "testdata" || d.Name() == "node_modules" || p == "examples" || p == "dist") {
			return fs.SkipDir
		}
		if _, helper := archHelpers[dir]; helper || d.IsDir() || path.Ext(p) != ".go" || strings.HasSuffix(p, "_test.go") || strings.HasSuffix(dir, "test") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range f.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			encoders, plain := 0, 0
			ast.Inspect(fn, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				pkg, _ := sel.X.(*ast.Ident)
				switch isJSON := pkg != nil && pkg.Name == "json"; {
				case isJSON && (sel.Sel.Name == "Marshal" || sel.Sel.Name == "MarshalIndent" || sel.Sel.Name == "HTMLEscape"):
					t.Errorf("%s: %s calls json.%s, which writes & as \\u0026; use jsonobj.Marshal, or the marshal of this package", p, fn.Name.Name, sel.Sel.Name)
				case isJSON && sel.Sel.Name == "NewEncoder":
					encoders++
				case sel.Sel.Name == "SetEscapeHTML":
					plain++
				}
				return true
			})
			if encoders != plain {
				t.Errorf("%s: %s makes %d JSON encoders and calls SetEscapeHTML %d times", p, fn.Name.Name, encoders, plain)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
