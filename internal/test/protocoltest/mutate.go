package protocoltest

import (
	"encoding/json"
	"fmt"
	"strings"

	"waggle/internal/json/jsonobj"
)

// Mutation is a way in which one key of an object is spoiled.
type Mutation struct {
	Name string
	do   func(o *jsonobj.Object, key string, raw json.RawMessage)
}

// Mutations are: the key is dropped, spelled in another case, of another type.
var Mutations = []Mutation{
	{"dropped", func(o *jsonobj.Object, key string, _ json.RawMessage) { o.Delete(key) }},
	{"case", func(o *jsonobj.Object, key string, raw json.RawMessage) { o.Delete(key); o.Set(swapCase(key), raw) }},
	{"type", func(o *jsonobj.Object, key string, raw json.RawMessage) { o.Set(key, otherType(raw)) }},
}

// Of returns text, an object, with the key at path spoiled. A path is of keys with dots.
func (m Mutation) Of(text, path string) string {
	o := object(text)
	key, rest, deeper := strings.Cut(path, ".")
	raw, _ := o.Get(key)
	if deeper {
		o.Set(key, json.RawMessage(m.Of(string(raw), rest)))
	} else {
		m.do(o, key, raw)
	}
	return string(o.Raw())
}

// Keys lists the paths of an object's keys, those of objects in it behind their own. The
// keys of a tool's input are the tool's, and those of metadata the user's.
func Keys(text string) []string { return keys(text, "") }

func keys(text, prefix string) (list []string) {
	o := object(text)
	for _, key := range o.Keys() {
		list = append(list, prefix+key)
		raw, _ := o.Get(key)
		if raw[0] == '{' && key != "input" && key != "updated_input" && key != "metadata" && len(raw) > 2 {
			list = append(list, keys(string(raw), prefix+key+".")...)
		}
	}
	return list
}

func object(text string) *jsonobj.Object {
	o, err := jsonobj.Parse([]byte(text))
	if err != nil {
		panic(fmt.Sprintf("protocoltest: %v: %s", err, text))
	}
	return o
}

func swapCase(key string) string {
	if up := strings.ToUpper(key[:1]) + key[1:]; up != key {
		return up
	}
	return strings.ToLower(key)
}

func otherType(raw json.RawMessage) json.RawMessage {
	if raw[0] == '"' {
		return json.RawMessage("7")
	}
	return json.RawMessage(`"another type"`)
}
