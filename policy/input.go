package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"waggle/internal/json/jsontext"
)

// readInput reads a tool input so that every other reader must see the same: an
// object in valid UTF-8 without lone surrogates and without duplicate keys at any
// depth (trust §2). No input at all is an empty object.
func readInput(raw json.RawMessage) (map[string]json.RawMessage, error) {
	trimmed := bytes.Trim(raw, " \t\r\n") // JSON's own white space, no more
	switch {
	case len(trimmed) == 0:
		return nil, nil
	case !utf8.Valid(trimmed):
		return nil, errors.New("the input is not valid UTF-8")
	case !json.Valid(trimmed):
		return nil, errors.New("the input is not valid JSON")
	case trimmed[0] != '{':
		return nil, errors.New("the input is not a JSON object")
	}
	s := jsontext.Scanner[string]{Text: string(trimmed)}
	type place struct {
		object int
		key    string
	}
	var twice *string
	seen := map[place]bool{}
	s.OnKey = func(k jsontext.Key) {
		at := place{k.Object, jsontext.Unquote(s.Text[k.Start:k.End])}
		if seen[at] && twice == nil {
			twice = &at.key
		}
		seen[at] = true
	}
	switch s.Document(); {
	case s.Surrogate:
		return nil, errors.New("the input holds half of a surrogate pair")
	case twice != nil:
		return nil, fmt.Errorf("the input holds the key %q twice", *twice)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(trimmed, &fields); err != nil {
		return nil, errors.New("the input is not a JSON object")
	}
	return fields, nil
}

// misspelled finds a key that differs from a wanted one only in case: a decoder that ignores case
// would read it as the wanted one.
func misspelled(fields map[string]json.RawMessage, wanted []string) (key, as string, found bool) {
	for k := range fields {
		for _, w := range wanted {
			if k != w && strings.EqualFold(k, w) && (!found || k < key) {
				key, as, found = k, w, true
			}
		}
	}
	return key, as, found
}

// stringField reads a string member; present reports whether the key is there at
// all, ok whether it is a string.
func stringField(fields map[string]json.RawMessage, key string) (s string, present, ok bool) {
	raw, present := fields[key]
	if !present {
		return "", false, false
	}
	var p *string
	if err := json.Unmarshal(raw, &p); err != nil || p == nil {
		return "", true, false
	}
	return *p, true, true
}
