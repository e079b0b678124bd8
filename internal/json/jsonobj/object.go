// Package jsonobj reads and writes the JSON objects that other programs share
// with us, without changing what is not ours to change: key order, keys nobody
// here knows, duplicate keys, and the bytes of every number and string survive a
// rewrite. Output is laid out as JSON.stringify(value, null, 2) does it.
//
//	o, err := jsonobj.Parse(data)
//	raw, ok := o.Get("owner")
//	o.Set("owner", jsonobj.AppendString(nil, "tester"))
//	data = o.Append(nil, 0)
//
// Keys are compared exactly; nothing here folds case. An Object is not safe for
// concurrent use; Clone is cheap.
package jsonobj

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"waggle/internal/json/jsontext"
)

// MaxDepth is how deep objects and arrays may nest. Real files nest four deep;
// the limit keeps indentation from multiplying the size of a hostile one.
const MaxDepth = jsontext.MaxIndent

// Error says where data is not the JSON object that was expected.
type Error struct {
	Offset int64 // of the first byte that is wrong; len(data) when the end is missing
	Why    string
}

func (e *Error) Error() string { return fmt.Sprintf("byte %d: %s", e.Offset, e.Why) }

// Object is an ordered JSON object whose values are kept as they were written.
type Object struct{ members []member }

type member struct {
	key    string
	rawKey []byte
	value  []byte
}

var bom = []byte("\xef\xbb\xbf")

// Parse reads one JSON object and nothing after it but white space. A leading
// byte order mark is skipped. Every failure is an *Error. data is not kept.
func Parse(data []byte) (*Object, error) {
	skipped := int64(0)
	if bytes.HasPrefix(data, bom) {
		data, skipped = data[len(bom):], int64(len(bom))
	}
	if err := check(data); err != nil {
		err.Offset += skipped
		return nil, err
	}
	start := jsontext.Space(data, 0)
	if data[start] != '{' {
		return nil, &Error{Offset: int64(start) + skipped, Why: "a JSON object is expected, this is " + TypeOf(data[start:])}
	}
	o, s := &Object{}, jsontext.Scanner[[]byte]{Text: bytes.Clone(data[start:])}
	s.Object(0, func(m jsontext.Span) {
		rawKey := s.Text[m.Key:m.KeyEnd]
		key, _ := String(rawKey)
		o.members = append(o.members, member{key, rawKey, s.Text[m.Value:m.End:m.End]})
	})
	return o, nil
}

// check validates syntax and depth.
func check(data []byte) *Error {
	s := jsontext.Scanner[[]byte]{Text: data}
	if !s.Document() {
		why := "unexpected end of JSON input"
		if s.At < len(data) {
			var raw json.RawMessage
			why = json.Unmarshal(data, &raw).Error()
		}
		return &Error{int64(s.At), why}
	}
	if s.Depth > MaxDepth {
		s = jsontext.Scanner[[]byte]{Text: data, MaxDepth: MaxDepth}
		s.Document()
		return &Error{int64(s.At), fmt.Sprintf("nested deeper than %d", MaxDepth)}
	}
	return nil
}

// Get returns the value of key. Of duplicates the last one counts, as in
// JavaScript.
func (o *Object) Get(key string) (json.RawMessage, bool) {
	if i := o.last(key); i >= 0 {
		return o.members[i].value, true
	}
	return nil, false
}

// Text returns the string of key, "" when it has none.
func (o *Object) Text(key string) string {
	raw, _ := o.Get(key)
	s, _ := String(raw)
	return s
}

// Object returns the object of key, an empty one when it has none.
func (o *Object) Object(key string) *Object {
	raw, _ := o.Get(key)
	if inner, err := Parse(raw); err == nil {
		return inner
	}
	return &Object{}
}

// Objects are the objects in a list; what is none in it is left out.
func (o *Object) Objects(key string) (list []*Object) {
	raw, _ := o.Get(key)
	elements, _ := Elements(raw)
	for _, e := range elements {
		if one, err := Parse(e); err == nil {
			list = append(list, one)
		}
	}
	return list
}

func (o *Object) last(key string) int {
	for i := len(o.members) - 1; i >= 0; i-- {
		if o.members[i].key == key {
			return i
		}
	}
	return -1
}

// Keys returns the keys in order, duplicates as often as they occur.
func (o *Object) Keys() []string {
	keys := make([]string, len(o.members))
	for i, m := range o.members {
		keys[i] = m.key
	}
	return keys
}

// Len is the number of members, duplicates included.
func (o *Object) Len() int { return len(o.members) }

// Duplicates returns the keys that occur more than once, each once.
func (o *Object) Duplicates() []string {
	var found []string
	seen := make(map[string]int, len(o.members))
	for _, m := range o.members {
		if seen[m.key]++; seen[m.key] == 2 {
			found = append(found, m.key)
		}
	}
	return found
}

// Set gives key a value, which must be valid JSON: in its old place, or at the
// end. Duplicates of key become one, so that every reader sees the same value.
func (o *Object) Set(key string, value json.RawMessage) { o.SetOrdered(key, value, nil) }

// SetOrdered is Set that puts a new key where order has it: after the nearest
// key before it in order that is present, else before the nearest one after it,
// else at the end.
func (o *Object) SetOrdered(key string, value json.RawMessage, order []string) {
	if at := o.last(key); at >= 0 {
		o.members[at].value = value
		kept := o.members[:0:0]
		for i, m := range o.members {
			if m.key != key || i == at {
				kept = append(kept, m)
			}
		}
		o.members = kept
		return
	}
	added := member{key: key, rawKey: AppendString(nil, key), value: value}
	o.members = slices.Insert(o.members, o.place(key, order), added)
}

func (o *Object) place(key string, order []string) int {
	own := slices.Index(order, key)
	for i := own - 1; i >= 0; i-- {
		if at := o.last(order[i]); at >= 0 {
			return at + 1
		}
	}
	for i := own + 1; own >= 0 && i < len(order); i++ {
		if at := slices.IndexFunc(o.members, func(m member) bool { return m.key == order[i] }); at >= 0 {
			return at
		}
	}
	return len(o.members)
}

// Delete removes key, every one of its duplicates.
func (o *Object) Delete(key string) {
	o.members = slices.DeleteFunc(slices.Clone(o.members), func(m member) bool { return m.key == key })
}

// Clone returns an object that can be changed without changing o.
func (o *Object) Clone() *Object { return &Object{members: slices.Clone(o.members)} }

// Append appends the object as JSON.stringify(o, null, 2) lays it out when it
// stands depth levels deep: every line but the first is indented for that depth.
func (o *Object) Append(dst []byte, depth int) []byte {
	return AppendIndent(dst, o.text(), depth)
}

// Compact returns the object without white space between its tokens.
func (o *Object) Compact() []byte { return jsontext.AppendCompact(nil, o.text()) }

func (o *Object) text() []byte {
	raw := []byte{'{'}
	for _, m := range o.members {
		raw = append(append(raw, m.rawKey...), ':')
		raw = append(append(raw, m.value...), ',')
	}
	return append(bytes.TrimSuffix(raw, []byte(",")), '}')
}

// Raw returns the object's JSON for use as a value in Set.
func (o *Object) Raw() json.RawMessage { return o.Append(nil, 0) }
