package jsonobj

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf16"
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

// Marshal is jsontext.Marshal.
func Marshal(v any) ([]byte, error) { return jsontext.Marshal(v) }

// MarshalIndent is Marshal with each value on a line of its own, indented by two
// spaces a level (AppendIndent).
func MarshalIndent(v any) ([]byte, error) {
	b, err := Marshal(v)
	if err != nil {
		return nil, err
	}
	return AppendIndent(make([]byte, 0, 2*len(b)), b, 0), nil
}

// Respell appends valid JSON with the same value in which each string is spelled
// anew: a character for which escape is true is written as \uXXXX (a surrogate
// pair beyond U+FFFF), every other as itself, where JSON allows it. The escape of
// half a surrogate pair stays one. Everything outside strings keeps its bytes.
func Respell(dst, raw []byte, escape func(rune) bool) []byte {
	for i := 0; i < len(raw); {
		if raw[i] != '"' {
			dst = append(dst, raw[i])
			i++
			continue
		}
		end := jsontext.StringEnd(raw, i)
		dst = respellString(dst, string(raw[i:end]), escape)
		i = end
	}
	return dst
}

func respellString(dst []byte, lit string, escape func(rune) bool) []byte {
	dst = append(dst, '"')
	for value := jsontext.Unquote(string([]rune(lit))); value != ""; { // what is not UTF-8 becomes U+FFFD
		r, n := utf8.DecodeRuneInString(value)
		half := n == 1 && r == utf8.RuneError // of a surrogate pair: three bytes
		if half {
			n = 3
		}
		if half || r < ' ' || r == '"' || r == '\\' || !escape(r) {
			quoted := jsontext.AppendString(nil, value[:n])
			dst = append(dst, quoted[1:len(quoted)-1]...)
		} else {
			for _, u := range utf16.Encode([]rune{r}) {
				dst = fmt.Appendf(dst, `\u%04x`, u)
			}
		}
		value = value[n:]
	}
	return append(dst, '"')
}
