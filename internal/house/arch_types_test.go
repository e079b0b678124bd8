package house_test

import (
	"fmt"
	"go/ast"
	"go/doc"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"waggle/internal/test/testenv"
)

// archPublic says whether a package can be imported from another module: neither a program
// nor below an internal directory.
func archPublic(importPath, name string) bool {
	return name != "main" && !slices.Contains(strings.Split(importPath, "/"), "internal")
}

// hiddenTypes finds the types of internal packages in what a package exports.
type hiddenTypes struct {
	pkg   *types.Package
	named map[*types.Named]bool
	found []string
}

func (h *hiddenTypes) note(where string, obj *types.TypeName) {
	if pkg := obj.Pkg(); pkg != nil && !archPublic(pkg.Path(), "") {
		h.found = append(h.found, fmt.Sprintf("%s: %s.%s", where, pkg.Path(), obj.Name()))
	}
}

// object looks at one exported object of the package's scope.
func (h *hiddenTypes) object(obj types.Object) {
	name, ok := obj.(*types.TypeName)
	if !ok {
		h.walk(obj.Name(), obj.Type())
		return
	}
	if alias, ok := obj.Type().(*types.Alias); ok {
		if !readable(alias) {
			h.walk(obj.Name()+" (alias)", alias.Rhs())
		}
		return
	}
	h.define(name.Name(), obj.Type().(*types.Named))
}

// readable reports an alias of an error whose every field is exported and made of other types: an
// importer of the alias can match, read and make such an error.
func readable(alias *types.Alias) bool {
	n, ok := alias.Rhs().(*types.Named)
	if !ok {
		return false
	}
	s, ok := n.Underlying().(*types.Struct)
	if !ok || !types.Implements(types.NewPointer(n), types.Universe.Lookup("error").Type().Underlying().(*types.Interface)) {
		return false
	}
	for f := range s.Fields() {
		if !f.Exported() {
			return false
		}
	}
	h := hiddenTypes{pkg: n.Obj().Pkg(), named: map[*types.Named]bool{}}
	h.define(n.Obj().Name(), n)
	return len(h.found) == 0
}

// define looks at what a type of the package shows: its exported fields and methods, promoted
// ones too.
func (h *hiddenTypes) define(where string, n *types.Named) {
	if h.named[n] {
		return
	}
	h.named[n] = true
	h.walk(where, n.Underlying())
	for _, t := range []types.Type{n, types.NewPointer(n)} {
		for method := range types.NewMethodSet(t).Methods() {
			if method.Obj().Exported() {
				h.walk(where+"."+method.Obj().Name(), method.Type())
			}
		}
	}
}

func (h *hiddenTypes) walk(where string, t types.Type) {
	switch t := t.(type) {
	case *types.Alias:
		h.note(where, t.Obj()) // what it stands for is looked at in its own package
		for arg := range t.TypeArgs().Types() {
			h.walk(where, arg)
		}
	case *types.Named:
		h.note(where, t.Obj())
		for arg := range t.TypeArgs().Types() {
			h.walk(where, arg)
		}
		// An unexported type has no name outside of its package: its exported fields and methods are
		// checked.
		if t.Obj().Pkg() == h.pkg && !t.Obj().Exported() {
			h.define(where, t)
		}
	case *types.Pointer:
		h.walk(where, t.Elem())
	case *types.Slice:
		h.walk(where, t.Elem())
	case *types.Array:
		h.walk(where, t.Elem())
	case *types.Chan:
		h.walk(where, t.Elem())
	case *types.Map:
		h.walk(where, t.Key())
		h.walk(where, t.Elem())
	case *types.Tuple:
		for v := range t.Variables() {
			h.walk(where, v.Type())
		}
	case *types.Signature:
		for p := range t.TypeParams().TypeParams() {
			h.walk(where, p.Constraint())
		}
		h.walk(where, t.Params())
		h.walk(where, t.Results())
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() || f.Embedded() { // of an embedded one the fields are promoted
				h.walk(where+"."+f.Name(), f.Type())
			}
		}
	case *types.Interface:
		for m := range t.ExplicitMethods() {
			if m.Exported() {
				h.walk(where+"."+m.Name(), m.Type())
			}
		}
		for e := range t.EmbeddedTypes() {
			h.walk(where, e)
		}
	case *types.Union:
		for term := range t.Terms() {
			h.walk(where, term.Type())
		}
	}
}

// archImporter reads the types of packages from what the go command compiled.
func archImporter(list []listed) types.Importer {
	files := map[string]string{}
	for _, e := range list {
		files[e.ImportPath] = e.Export
	}
	return importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		if files[path] == "" {
			return nil, fmt.Errorf("no types of %s", path)
		}
		return os.Open(files[path])
	})
}

// TestArchPublicTypes: no public package exports a type of an internal package, because an importer
// of waggle could neither name nor make it.
func TestArchPublicTypes(t *testing.T) {
	list := archList(t, nil, "-export", "-deps", "-json=ImportPath,Name,Export,DepOnly", "./...")
	imp := archImporter(list)
	for _, e := range list {
		if _, own := below(e.ImportPath); !own || e.DepOnly || !archPublic(e.ImportPath, e.Name) {
			continue
		}
		pkg, err := imp.Import(e.ImportPath)
		testenv.Must(t, err)
		for _, what := range hidden(pkg) {
			t.Errorf("%s exports a type that is internal: %s", e.ImportPath, what)
		}
	}
}

func hidden(pkg *types.Package) []string {
	h := hiddenTypes{pkg: pkg, named: map[*types.Named]bool{}}
	for _, name := range pkg.Scope().Names() {
		if obj := pkg.Scope().Lookup(name); obj.Exported() {
			h.object(obj)
		}
	}
	slices.Sort(h.found)
	return slices.Compact(h.found)
}

// one is an importer of a single package.
type one struct{ pkg *types.Package }

func (o one) Import(string) (*types.Package, error) { return o.pkg, nil }

// TestArchHiddenTypes: hidden finds each type of an internal package that an exported object shows,
// and no other type.
func TestArchHiddenTypes(t *testing.T) {
	check := func(path, source string, imp types.Importer) *types.Package {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, "x.go", source, 0)
		testenv.Must(t, err)
		pkg, err := (&types.Config{Importer: imp}).Check(path, fset, []*ast.File{file}, nil)
		if err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		return pkg
	}
	inner := one{check("m/internal/in", `package in
type T struct{ A int }
func (T) Me() T { return T{} }
type Err struct{ A int }
func (*Err) Error() string { return "" }
type Closed struct{ a int }
func (*Closed) Error() string { return "" }
type I interface{ M() }
`, nil)}
	for source, want := range map[string]int{
		"func F(in.T) {}":                                  1,
		"func F() []map[string]*in.T { panic(1) }":         1,
		"func F(func(chan in.T)) {}":                       1,
		"func F[P in.I](P) {}":                             1,
		"var V in.T":                                       1,
		"type S struct{ F in.T }":                          1,
		"type S struct{ in.T }":                            2, // the field and the promoted method
		"type S struct{ t in.T }":                          0,
		"type t struct{ F in.T }; type S struct{ t }":      1,
		"type t struct{ F in.T }; var V t":                 1,
		"type I interface{ M(in.T) }":                      1,
		"type I interface{ in.I }":                         1,
		"type A = in.T":                                    1,
		"type A = *in.T":                                   1,
		"type A = in.Err; func F() *A { return nil }":      0,
		"type A = in.Closed":                               1,
		"type A = in.Err; func F() *in.Err { return nil }": 1,
		"type S struct{}; func (S) M(in.T) {}":             1,
		"type S struct{}; func (S) m(in.T) {}":             0,
		"func f(in.T) {}":                                  0,
	} {
		if got := hidden(check("m/out", "package out\nimport \"m/internal/in\"\nvar _ in.T\n"+source, inner)); len(got) != want {
			t.Errorf("%s: %q, want %d", source, got, want)
		}
	}
}

// Every package that others can import shows how, in an Example that go test runs. A suite
// for implementations of a store or a backend is a test itself and needs none.
func TestArchExamples(t *testing.T) {
	runs := map[string]bool{}
	public := map[string]bool{}
	eachFile(t, func(f archFile) {
		_, _, helper := helperOf(f.pkg)
		if helper || !archPublic(f.pkg, strings.TrimSuffix(f.syntax.Name.Name, "_test")) || strings.HasPrefix(f.pkg, "examples/") || strings.HasPrefix(f.pkg, "tools") {
			return
		}
		if !f.test {
			public[f.pkg] = true
			return
		}
		names := f.names()
		for _, e := range doc.Examples(f.syntax) {
			if e.Output == "" && !e.EmptyOutput {
				continue
			}
			runs[f.pkg] = true
			for name := range hiddenUses(f.syntax, e.Code, names) {
				t.Errorf("%s: Example%s uses %s, which nobody else can import", f.path, e.Name, name)
			}
		}
	})
	for _, pkg := range slices.Sorted(maps.Keys(public)) {
		if !runs[pkg] {
			t.Errorf("%s has no Example with an output", pkg)
		}
	}
}

// hiddenUses lists the internal packages that an example uses, also in the functions of its
// own file that it calls.
func hiddenUses(file *ast.File, code ast.Node, names map[string]string) map[string]bool {
	funcs := map[string]*ast.FuncDecl{}
	for _, d := range file.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
			funcs[fn.Name.Name] = fn
		}
	}
	used, seen := map[string]bool{}, map[string]bool{}
	var look func(ast.Node)
	look = func(n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok || seen[id.Name] {
				return true
			}
			if p := names[id.Name]; p != "" && !archPublic(p, "") {
				used[p] = true
			}
			if fn := funcs[id.Name]; fn != nil {
				seen[id.Name] = true
				look(fn)
			}
			return true
		})
	}
	look(code)
	return used
}
