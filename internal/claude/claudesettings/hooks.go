package claudesettings

import (
	"encoding/json"
	"fmt"

	"waggle/internal/json/jsonc"
)

// Entry is one hook of a settings file.
type Entry struct {
	Event   string `json:"event"`
	Matcher string `json:"matcher"` // "" when it has none
	Command string `json:"command"` // "" for a hook that is no command
	Timeout string `json:"timeout"` // as it stands, "" without one
	Ours    bool   `json:"-"`
	Program string `json:"-"` // of ours

	group, handler int
}

// file is a parsed settings file.
type file struct {
	of    Client
	doc   *jsonc.Document
	hooks *jsonc.Value // nil when there is no such key
}

// parse refuses texts that the client refuses too.
func (c Client) parse(data []byte) (*file, error) {
	d, err := jsonc.Parse(data)
	if err != nil {
		return nil, err
	}
	f := &file{of: c, doc: d, hooks: d.Root.Get("hooks")}
	if d.Root != nil && d.Root.Kind != jsonc.Object {
		return nil, fmt.Errorf("the settings are of type %s, want object", d.Root.Kind)
	}
	if f.hooks == nil {
		return f, nil
	}
	if f.hooks.Kind != jsonc.Object {
		return nil, fmt.Errorf("hooks is of type %s, want object", f.hooks.Kind)
	}
	for _, it := range f.hooks.Items {
		if it.Value.Kind != jsonc.Array {
			return nil, fmt.Errorf("hooks.%s is of type %s, want array", it.Key, it.Value.Kind)
		}
	}
	return f, nil
}

// text is a string, "" for anything else.
func (f *file) text(v *jsonc.Value) string {
	if v == nil || v.Kind != jsonc.String {
		return ""
	}
	var s string
	if json.Unmarshal(f.doc.Raw(v), &s) != nil {
		return ""
	}
	return s
}

// entries lists the hooks in the order of the file. A value that is not a group or not a handler is
// skipped.
func (f *file) entries(recorded string) []Entry {
	var list []Entry
	if f.hooks == nil {
		return nil
	}
	for _, ev := range f.hooks.Items {
		for g, group := range ev.Value.Items {
			handlers := group.Value.Get("hooks")
			if handlers == nil || handlers.Kind != jsonc.Array {
				continue
			}
			for h, handler := range handlers.Items {
				if handler.Value.Kind != jsonc.Object {
					continue
				}
				e := Entry{Event: ev.Key, Matcher: f.text(group.Value.Get("matcher")), Command: f.text(handler.Value.Get("command")), group: g, handler: h}
				if t := handler.Value.Get("timeout"); t != nil {
					e.Timeout = string(f.doc.Raw(t))
				}
				if f.text(handler.Value.Get("type")) == "command" {
					e.Program, e.Ours = f.of.program(e.Command, ev.Key, recorded)
				}
				list = append(list, e)
			}
		}
	}
	return list
}

// handlerOf is the handler of an entry of this file.
func (f *file) handlerOf(e Entry) *jsonc.Value {
	return f.hooks.Get(e.Event).Items[e.group].Value.Get("hooks").Items[e.handler].Value
}

// True reports whether the top of the settings has a key with the value true.
func (f *file) isTrue(key string) bool {
	v := f.doc.Root.Get(key)
	return v != nil && string(f.doc.Raw(v)) == "true"
}
