package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
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
	case loneSurrogate(trimmed):
		return nil, errors.New("the input holds half of a surrogate pair")
	}
	if key, found := duplicateKey(trimmed); found {
		return nil, fmt.Errorf("the input holds the key %q twice", key)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(trimmed, &fields); err != nil {
		return nil, errors.New("the input is not a JSON object")
	}
	return fields, nil
}

// duplicateKey finds a key that occurs twice in one object of valid JSON.
func duplicateKey(raw []byte) (string, bool) {
	type level struct {
		seen  map[string]bool // nil in an array
		value bool            // the next token is a value
	}
	var stack []level
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	done := func() {
		if len(stack) > 0 {
			stack[len(stack)-1].value = false
		}
	}
	for {
		tok, err := dec.Token()
		if err != nil {
			return "", false
		}
		if d, ok := tok.(json.Delim); ok {
			switch d {
			case '{':
				stack = append(stack, level{seen: map[string]bool{}})
			case '[':
				stack = append(stack, level{})
			default:
				stack = stack[:len(stack)-1]
				done()
			}
			continue
		}
		top := &stack[len(stack)-1]
		if top.seen == nil || top.value {
			done()
			continue
		}
		key, _ := tok.(string)
		if top.seen[key] {
			return key, true
		}
		top.seen[key], top.value = true, true
	}
}

// loneSurrogate finds a \u escape of a surrogate without its partner.
func loneSurrogate(raw []byte) bool {
	for i := 0; i+5 < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		i++ // the escaped byte; an escape of \ must not hide the next one
		if raw[i] != 'u' || i+5 > len(raw) {
			continue
		}
		hi := hex4(raw[i+1 : i+5])
		i += 4
		if hi < 0xD800 || hi > 0xDFFF {
			continue
		}
		if hi > 0xDBFF || i+6 >= len(raw) || raw[i+1] != '\\' || raw[i+2] != 'u' {
			return true
		}
		if lo := hex4(raw[i+3 : i+7]); lo < 0xDC00 || lo > 0xDFFF {
			return true
		}
		i += 6
	}
	return false
}

func hex4(b []byte) int {
	n := 0
	for _, c := range b {
		n <<= 4
		switch {
		case '0' <= c && c <= '9':
			n |= int(c - '0')
		case 'a' <= c && c <= 'f':
			n |= int(c-'a') + 10
		case 'A' <= c && c <= 'F':
			n |= int(c-'A') + 10
		}
	}
	return n
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
