package jsonobj

import (
	"bytes"
	"encoding/json"
	"slices"
	"unicode/utf8"

	"waggle/internal/json/jsontext"
)

// AppendIndent is jsontext.AppendIndent.
func AppendIndent(dst, raw []byte, depth int) []byte { return jsontext.AppendIndent(dst, raw, depth) }

// AppendArray appends elements, each valid JSON, as JSON.stringify(a, null, 2)
// lays an array out at the given depth.
func AppendArray[E ~[]byte](dst []byte, elements []E, depth int) []byte {
	raw := []byte{'['}
	for _, e := range elements {
		raw = append(append(raw, e...), ',')
	}
	return AppendIndent(dst, append(bytes.TrimSuffix(raw, []byte(",")), ']'), depth)
}

// Elements returns the elements of a valid JSON array as they stand; false when
// raw is something else.
func Elements(raw json.RawMessage) ([]json.RawMessage, bool) {
	if TypeOf(raw) != "array" {
		return nil, false
	}
	elements := []json.RawMessage{}
	for _, e := range jsontext.Items(raw) {
		elements = append(elements, slices.Clip(e))
	}
	return elements, true
}

// String returns the value of a valid JSON string; false when raw is something
// else. Lone surrogates and invalid UTF-8 become U+FFFD.
func String(raw json.RawMessage) (string, bool) {
	if TypeOf(raw) != "string" {
		return "", false
	}
	var s string
	return s, json.Unmarshal(raw, &s) == nil
}

// TypeOf names the JSON type of valid JSON: object, array, string, number,
// boolean or null; "nothing" when there is none.
func TypeOf(raw json.RawMessage) string { return jsontext.TypeOf(raw) }

// AppendString appends s as JSON.stringify writes it: only the quote, the
// backslash and control characters below U+0020 are escaped. Invalid UTF-8
// becomes U+FFFD.
func AppendString(dst []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = string([]rune(s))
	}
	return jsontext.AppendString(dst, s)
}
