package protocol_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/test/protocoltest"
	"waggle/internal/test/testenv"
	"waggle/protocol"
)

// TestAddedFieldIsFollowed: a row that is added to the table is decoded in every spelling,
// written in both dialects, checked, and one of Fields, of which the schemas and the documents
// are made (schema.TestAddedFieldIsFollowed, docgen.TestAddedFieldIsFollowed).
func TestAddedFieldIsFollowed(t *testing.T) {
	const (
		wire    = `{"type":"task_progress","requestId":"1","timestamp":"2026-11-20T18:15:43.000Z","progress":{"phase":"done","message":"m"},"look":{"colour":"red"}}`
		catalog = `{"type":"task_progress","requestId":"1","timestamp":"2026-11-20T18:15:43.000Z","progress":{"phase":"done","message":"m"},"look":{"paint":"red"}}`
	)
	if d := protocol.DecodeText(wire); !slices.Equal(d.Unread, []string{"look"}) {
		t.Fatalf("without the row: unread %q", d.Unread)
	}
	var colour string
	defer protocol.AddField("look.colour", "wire:look.colour! catalog:5:look.paint! also:tint", "The colour.", &colour)()
	for text, dialect := range map[string]protocol.Dialect{wire: protocol.DialectWire, catalog: protocol.DialectCatalog,
		strings.Replace(wire, `"look":{"colour":"red"}`, `"tint":"red"`, 1): protocol.DialectMixed} {
		colour = ""
		d := protocol.DecodeText(text)
		if colour != "red" || d.Dialect != dialect || len(d.Unread) > 0 {
			t.Errorf("%s: read %q, dialect %s, unread %q, %q", text, colour, d.Dialect, d.Unread, d.Warnings)
		}
		for to, want := range map[protocol.Dialect]string{protocol.DialectWire: wire, protocol.DialectCatalog: catalog} {
			if got, err := protocol.Encode(d.Payload, to); got != want || err != nil {
				t.Errorf("%s: %s, %v", to, got, err)
			}
		}
	}
	p := protocol.DecodeText(wire).Payload
	colour = ""
	if err := protocol.Validate(p); err == nil || !strings.Contains(err.Error(), "look.colour is missing") {
		t.Errorf("an empty value: %v", err)
	}
	list := protocol.Fields(protocol.KindTaskProgress)
	at := slices.IndexFunc(list, func(f protocol.Field) bool { return f.Name == "look.colour" })
	if at < 0 {
		t.Fatal("Fields lacks the field")
	}
	want := protocol.Field{Name: "look.colour", Type: protocol.FieldText, Always: true, Required: true, NotEmpty: true, Also: []string{"tint"}, Doc: "The colour.",
		Spellings: []protocol.Spelling{
			{Dialect: protocol.DialectWire, Path: "look.colour", Always: true, Written: true},
			{Dialect: protocol.DialectCatalog, Path: "look.paint", Always: true, Written: true},
		}}
	if diff := cmp.Diff(want, list[at]); diff != "" {
		t.Error(diff)
	}
}

// spellings returns every path of every field, and their single keys.
func spellings() map[string]bool {
	all := make(map[string]bool)
	var add func(list []protocol.Field)
	add = func(list []protocol.Field) {
		for _, f := range list {
			paths := append([]string{f.Name}, f.Also...)
			for _, s := range f.Spellings {
				paths = append(paths, s.Path)
			}
			for _, path := range paths {
				all[path] = true
				for key := range strings.SplitSeq(path, ".") {
					all[key] = true
				}
			}
			add(f.Items)
		}
	}
	for _, info := range protocol.Kinds() {
		add(protocol.Fields(info.Kind))
	}
	return all
}

// notSpellings are the literals outside of the table that look like a spelling of a field,
// with the reason. The name before the space is the file's.
var notSpellings = map[string]string{
	"decode_policy.go plan":         "a permission mode",
	"envelope.go from":              "a key of the envelope",
	"envelope.go summary":           "a key of the envelope",
	"envelope.go timestamp":         "a key of the envelope",
	"envelope.go content":           "another key of the envelope's text",
	"envelope_write.go content":     "another key of the envelope's text",
	"kind.go tool":                  "a dialect",
	"payload.go error":              "a value of subtype",
	"../schema/schema.go from":      "a key of the envelope",
	"../schema/schema.go summary":   "a key of the envelope",
	"../schema/schema.go timestamp": "a key of the envelope",
}

// TestSpellingsStandInTheTable: no string outside of fields_*.go is a spelling of a field,
// or a list of them. In a sentence for people a name is no spelling.
func TestSpellingsStandInTheTable(t *testing.T) {
	all, used := spellings(), make(map[string]bool)
	files, err := filepath.Glob("*.go")
	testenv.Must(t, err)
	schemas, err := filepath.Glob("../schema/*.go")
	testenv.Must(t, err)
	for _, path := range append(files, schemas...) {
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "fields_") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		testenv.Must(t, err)
		for _, lit := range literals(file) {
			if !spelled(lit, all) {
				continue
			}
			key := path + " " + lit
			if notSpellings[key] == "" {
				t.Errorf("%s: %q is a spelling of a field: it belongs into the table", path, lit)
			}
			used[key] = true
		}
	}
	for key := range notSpellings {
		if !used[key] {
			t.Errorf("notSpellings: %s is not there", key)
		}
	}
}

// spelled reports a literal that is a spelling, or a list of spellings.
func spelled(lit string, all map[string]bool) bool {
	words := regexp.MustCompile(`[ ,:!]+`).Split(strings.Trim(lit, ` ,:!.{}"`), -1)
	return !slices.ContainsFunc(words, func(w string) bool { return !all[w] })
}

// literals returns the strings of a file that are no tags and no import paths.
func literals(file *ast.File) (list []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			n.Tag = nil
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				if s, err := strconv.Unquote(n.Value); err == nil {
					list = append(list, s)
				}
			}
		}
		return true
	})
	return list
}

// withoutGoField are the fields that no field of the Go type holds.
var withoutGoField = map[string]string{
	"idle_notification state":                "a word of the catalogue with one value",
	"mode_set_request policy.permissionMode": "the catalogue says the mode twice",
	"shutdown_approved approved":             "seed 004 says in a field what the type says",
	"shutdown_rejected approved":             "seed 004 says in a field what the type says",
}

// TestTagsAreTheTable: the JSON tags of the payloads, which Decoded.MarshalJSON writes, are
// the names of the table.
func TestTagsAreTheTable(t *testing.T) {
	for _, p := range protocoltest.Samples() {
		list := protocol.Fields(p.Kind())
		if list == nil {
			continue
		}
		var names []string
		for _, f := range list {
			if withoutGoField[string(p.Kind())+" "+f.Name] == "" {
				names = append(names, f.Name)
			}
		}
		tags := jsonTags(reflect.TypeOf(p), "", names)
		slices.Sort(names)
		slices.Sort(tags)
		if !slices.Equal(slices.Compact(names), slices.Compact(tags)) {
			t.Errorf("%s\ntable %q\ntags  %q", p.Kind(), names, tags)
		}
	}
}

// jsonTags lists the tags of a type, dotted. A struct that the table knows as one field is
// listed itself, and looked into when the table has fields inside of it.
func jsonTags(typ reflect.Type, in string, names []string) (tags []string) {
	for i := range typ.NumField() {
		f := typ.Field(i)
		if f.Anonymous {
			tags = append(tags, jsonTags(f.Type, in, names)...)
			continue
		}
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		known := slices.Contains(names, in+tag)
		if known {
			tags = append(tags, in+tag)
		}
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		inside := slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, in+tag+".") })
		switch {
		case inner.Kind() == reflect.Struct && inside:
			tags = append(tags, jsonTags(inner, in+tag+".", names)...)
		case !known:
			tags = append(tags, in+tag)
		}
	}
	return tags
}

// TestFieldsAreDocumented: every field has its sentence and its type.
func TestFieldsAreDocumented(t *testing.T) {
	for _, info := range protocol.Kinds() {
		for _, f := range protocol.Fields(info.Kind) {
			if !strings.HasSuffix(f.Doc, ".") || f.Type == "" {
				t.Errorf("%s %s: %q, type %q", info.Kind, f.Name, f.Doc, f.Type)
			}
		}
		if info.Kind == protocol.KindSystemInit != (protocol.Fields(info.Kind) == nil) {
			t.Errorf("%s has fields: %v", info.Kind, protocol.Fields(info.Kind) != nil)
		}
	}
}
