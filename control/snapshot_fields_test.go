package control

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"reflect"
	"slices"
	"strings"
	"testing"

	"waggle/internal/snapshot"
	"waggle/internal/test/testenv"
	"waggle/machine"
)

// TestSnapshotListsEveryField: a type of a fold with fields that are not exported has one function in the snapshot codec,
// which lists each of its fields once, in the order of the type. The test fails for a new field that is not listed there.
func TestSnapshotListsEveryField(t *testing.T) {
	listed := listedFields(t)
	unkept := map[string][]string{
		"Leader": {"failed", "notifier"}, // a fold that has failed has no snapshot; the caller of Restore sets the observer
		"Worker": {"failed", "notifier"},
	}
	seen := map[reflect.Type]bool{snapshot.TimeType: true}
	var walk func(reflect.Type)
	walk = func(typ reflect.Type) {
		if seen[typ] || typ == reflect.TypeFor[machine.Notifier]() {
			return
		}
		seen[typ] = true
		switch typ.Kind() {
		case reflect.Struct:
			name := strings.TrimPrefix(typ.String(), "control.")
			var want []string
			for f := range typ.Fields() {
				if !slices.Contains(unkept[name], f.Name) {
					want = append(want, f.Name)
				}
				walk(f.Type)
			}
			fields, own := listed[name]
			if exported := !slices.ContainsFunc(want, func(f string) bool { return !ast.IsExported(f) }); exported && !own {
				return // it is encoded by its type
			}
			if !slices.Equal(fields, want) {
				t.Errorf("%s: the codec lists %v\nthe type has %v", name, fields, want)
			}
			delete(listed, name)
		case reflect.Map:
			walk(typ.Key())
			walk(typ.Elem())
		case reflect.Slice, reflect.Pointer:
			walk(typ.Elem())
		}
	}
	walk(reflect.TypeFor[Leader]())
	walk(reflect.TypeFor[Worker]())
	for name := range listed {
		t.Errorf("the codec has %s, which no fold holds", name)
	}
}

// listedFields reads the codec's source: for each type the fields that its function names.
func listedFields(t *testing.T) map[string][]string {
	t.Helper()
	listed := map[string][]string{}
	f, err := parser.ParseFile(token.NewFileSet(), "snapshot_fields.go", nil, 0)
	testenv.Must(t, err)
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		of := types.ExprString(fn.Type.Params.List[1].Type.(*ast.StarExpr).X)
		if _, twice := listed[of]; twice {
			t.Errorf("%s has two functions", of)
		}
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && x.Name == "x" {
					listed[of] = append(listed[of], s.Sel.Name)
				}
			}
			return true
		})
	}
	return listed
}
