package jsonobj

import (
	"encoding/json"
	"slices"
	"unicode/utf8"

	"waggle/internal/jsontext"
)

// AppendIndent appends valid JSON with its white space replaced by that of
// JSON.stringify(value, null, 2) at the given depth. Strings and numbers keep
// their bytes. What stands deeper than MaxDepth stays on one line: the space before
// its lines would grow with the square of the depth, which whoever wrote the value chooses.
func AppendIndent(dst, raw []byte, depth int) []byte {
	for i := 0; i < len(raw); {
		switch c := raw[i]; c {
		case ' ', '\t', '\n', '\r':
		case '"':
			end := jsontext.StringEnd(raw, i)
			dst = append(dst, raw[i:end]...)
			i = end
			continue
		case '{', '[':
			dst = append(dst, c)
			next := jsontext.Space(raw, i+1)
			if raw[next] == c+2 { // '}' and ']' are two after their openers
				dst = append(dst, c+2)
				i = next + 1
				continue
			}
			depth++
			dst = newline(dst, depth)
		case '}', ']':
			depth--
			dst = append(newline(dst, depth), c)
		case ',':
			dst = newline(append(dst, c), depth)
		case ':':
			dst = append(dst, ':', ' ')
		default:
			dst = append(dst, c)
		}
		i++
	}
	return dst
}

// AppendArray appends elements, each valid JSON, as JSON.stringify(a, null, 2)
// lays an array out at the given depth.
func AppendArray[E ~[]byte](dst []byte, elements []E, depth int) []byte {
	if len(elements) == 0 {
		return append(dst, '[', ']')
	}
	dst = append(dst, '[')
	for i, e := range elements {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendIndent(newline(dst, depth+1), e, depth+1)
	}
	return append(newline(dst, depth), ']')
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

func newline(dst []byte, depth int) []byte {
	if depth > MaxDepth {
		return dst
	}
	dst = append(dst, '\n')
	for range depth {
		dst = append(dst, ' ', ' ')
	}
	return dst
}
