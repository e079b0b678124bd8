// Package jsonc edits JSON with comments and keeps every byte that an edit is not
// about: comments, order, indentation, line endings, a byte order mark, trailing commas,
// and how numbers and strings are written.
//
//	d, err := jsonc.Parse(data)
//	hooks := d.Root.Get("hooks")
//	d.Append(hooks, jsonc.New{Key: "Stop", Value: []any{"x"}})
//	data, err = d.Bytes()
//
// Parse finds the place of every value. Append, Remove, Replace and Empty collect
// splices, which Bytes applies. Remove takes back exactly what Append wrote, as long as
// nobody changed the place. Parse refuses what it cannot keep apart: keys that occur
// twice, text that is not UTF-8, and files over MaxSize or nested over maxDepth. Besides
// JSON it takes // and /* */ comments and one trailing comma in an object or an array.
package jsonc

import "fmt"

// Limits of a document.
const (
	MaxSize  = 1 << 20
	maxDepth = 128
)

// Error says where data is not JSON with comments.
type Error struct {
	Line, Column int // from 1; the column counts bytes
	Why          string
}

func (e *Error) Error() string { return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Why) }

// Kind is the kind of a value.
type Kind string

// The kinds.
const (
	Object Kind = "object"
	Array  Kind = "array"
	String Kind = "string"
	Number Kind = "number"
	Bool   Kind = "boolean"
	Null   Kind = "null"
)

// Value is a value and its place: data[Start:End].
type Value struct {
	Kind       Kind
	Start, End int
	Items      []Item // of an object or an array

	tail     int  // end of the last token before the closing bracket
	lines    bool // a line break stands between its tokens
	comments bool // a comment stands between its items
}

// Item is an element of an array, or a member of an object.
type Item struct {
	Key   string // of a member
	Start int    // of the key, or of the element
	Value *Value

	before int // end of the token before it
	comma  int // place of the comma behind it, -1 without one
}

// Get is the value of a member, nil without one.
func (v *Value) Get(key string) *Value {
	if v == nil || v.Kind != Object {
		return nil
	}
	for i := range v.Items {
		if v.Items[i].Key == key {
			return v.Items[i].Value
		}
	}
	return nil
}

// Commented reports whether a comment stands between the items of v.
func (v *Value) Commented() bool { return v.comments }

// Document is a parsed text.
type Document struct {
	Root *Value // nil when the text has no value, only space and comments

	data    []byte
	ends    map[int]bool // where line comments end
	splices []splice
}

// Raw is a value as it stands.
func (d *Document) Raw(v *Value) []byte { return d.data[v.Start:v.End] }

// Inner is what stands between the brackets of an object or an array.
func (d *Document) Inner(v *Value) string { return string(d.data[v.Start+1 : v.End-1]) }
