package house_test

import (
	"go/ast"
	"strings"
	"testing"
)

// TestNoHTMLEscapes: no program code writes JSON with HTML escapes. A command
// `a && b <c>` that was stored as `a \u0026\u0026 b \u003cc\u003e` is not shown, found
// or hashed as what runs.
func TestNoHTMLEscapes(t *testing.T) {
	eachFile(t, func(f archFile) {
		if _, helper := archHelpers[f.pkg]; helper || f.test || strings.HasSuffix(f.pkg, "test") || strings.HasPrefix(f.path, "examples/") || strings.HasPrefix(f.path, ".") {
			return
		}
		for _, decl := range f.syntax.Decls {
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
					t.Errorf("%s: %s calls json.%s, which writes & as \\u0026; use jsonobj.Marshal, or the marshal of this package", f.path, fn.Name.Name, sel.Sel.Name)
				case isJSON && sel.Sel.Name == "NewEncoder":
					encoders++
				case sel.Sel.Name == "SetEscapeHTML":
					plain++
				}
				return true
			})
			if encoders != plain {
				t.Errorf("%s: %s makes %d JSON encoders and calls SetEscapeHTML %d times", f.path, fn.Name.Name, encoders, plain)
			}
		}
	})
}
