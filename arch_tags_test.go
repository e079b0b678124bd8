package waggle_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// archFacts are the packages whose types are facts: times and values, which every face turns
// into its own documents (internal/view).
var archFacts = []string{"operator", "operator/decide", "operator/inspect", "operator/mail", "operator/board", "operator/process",
	"operator/doctor", "operator/teams", "operator/supervise", "operator/teamfile"}

// archTagged are the types of archFacts that have JSON tags, by the file and the declaration
// that they stand in, with the reason.
var archTagged = map[string]string{
	"operator/decide/request.go InputOf": "the input of a plan and of a host, which is shown and compared as JSON, as that of a tool call is",
	"operator/inspect/audit.go about":    "reads the bodies of journal records",
	"operator/mail/serve.go Endpoint":    "the file of an endpoint",
	"operator/mail/trail.go traceBody":   "reads the bodies of journal records",
	"operator/teams/token.go joinToken":  "the file of a token",

	"operator/teamfile/definition.go Definition":  "the file of accepted agent definitions",
	"operator/teamfile/definition.go Definitions": "the same",
}

// TestArchFactsHaveNoTags: the JSON documents of the command line are made in internal/view,
// so that no fact has the field names of one face.
func TestArchFactsHaveNoTags(t *testing.T) {
	found := map[string]bool{}
	for _, dir := range archFacts {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if !e.IsDir() && strings.HasSuffix(e.Name(), ".go") && !strings.HasSuffix(e.Name(), "_test.go") {
				archTags(t, dir+"/"+e.Name(), found)
			}
		}
	}
	for at := range archTagged {
		if !found[at] {
			t.Errorf("%s has no JSON tags any more: take it off the list", at)
		}
	}
}

// archTags finds the declarations of a file whose types have JSON tags.
func archTags(t *testing.T, file string, found map[string]bool) {
	t.Helper()
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, filepath.FromSlash(file), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range f.Decls {
		at := file + " " + archDeclared(d)
		ast.Inspect(d, func(n ast.Node) bool {
			field, ok := n.(*ast.Field)
			if !ok || field.Tag == nil {
				return true
			}
			tag, err := strconv.Unquote(field.Tag.Value)
			if _, has := reflect.StructTag(tag).Lookup("json"); err != nil || !has {
				return true
			}
			if found[at] = true; archTagged[at] == "" {
				t.Errorf("%s: a JSON tag: the document goes to internal/view", set.Position(field.Pos()))
			}
			return true
		})
	}
}

// archDeclared is the name of a function, or those of a declaration's types.
func archDeclared(d ast.Decl) string {
	var names []string
	switch d := d.(type) {
	case *ast.FuncDecl:
		return d.Name.Name
	case *ast.GenDecl:
		for _, s := range d.Specs {
			if s, ok := s.(*ast.TypeSpec); ok {
				names = append(names, s.Name.Name)
			}
		}
	}
	return strings.Join(slices.Compact(names), ", ")
}
