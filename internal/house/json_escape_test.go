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
				switch pkg, name := selected(n); {
				case pkg == "json" && (name == "Marshal" || name == "MarshalIndent" || name == "HTMLEscape"):
					t.Errorf("%s: %s calls json.%s, which writes & as \\u0026; use jsonobj.Marshal, or the marshal of this package", f.path, fn.Name.Name, name)
				case pkg == "json" && name == "NewEncoder":
					encoders++
				case name == "SetEscapeHTML":
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
