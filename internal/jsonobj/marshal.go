package jsonobj

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"waggle/internal/jsonscan"
)

// Marshal is json.Marshal without HTML escapes: &, < and > are written as they
// are, also in what a MarshalJSON method or a json.RawMessage gives.
func Marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

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
		end := jsonscan.StringEnd(raw, i)
		dst = respellString(dst, raw[i:end], escape)
		i = end
	}
	return dst
}

func respellString(dst, lit []byte, escape func(rune) bool) []byte {
	if len(lit) < 2 {
		return append(dst, lit...)
	}
	dst = append(dst, '"')
	for body := lit[1 : len(lit)-1]; len(body) > 0; {
		r, n := utf8.DecodeRune(body)
		if r == '\\' && len(body) > 1 {
			if r, n = escaped(body); r < 0 {
				dst, body = append(dst, body[:n]...), body[n:]
				continue
			}
		}
		dst, body = appendRune(dst, r, escape), body[n:]
	}
	return append(dst, '"')
}

// escaped reads the escape that s begins with and returns its character and
// length; -1 when that is half a surrogate pair.
func escaped(s []byte) (rune, int) {
	switch s[1] {
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		if len(s) < 6 {
			return -1, len(s)
		}
	default:
		return rune(s[1]), 2
	}
	r, _ := jsonscan.Hex4(s)
	switch {
	case r < jsonscan.SurrogateMin || r > jsonscan.SurrogateMax:
		return r, 6
	case r < jsonscan.LowSurrogateMin:
		if low, ok := jsonscan.Hex4(s[6:]); ok && low >= jsonscan.LowSurrogateMin && low <= jsonscan.SurrogateMax {
			return 0x10000 + (r-jsonscan.SurrogateMin)<<10 + (low - jsonscan.LowSurrogateMin), 12
		}
	}
	return -1, 6
}

func appendRune(dst []byte, r rune, escape func(rune) bool) []byte {
	if r < 0x20 || r == '"' || r == '\\' || !escape(r) {
		quoted := AppendString(nil, string(r))
		return append(dst, quoted[1:len(quoted)-1]...)
	}
	if r >= 0x10000 {
		r -= 0x10000
		return appendU(appendU(dst, 0xd800+r>>10), 0xdc00+r&0x3ff)
	}
	return appendU(dst, r)
}

func appendU(dst []byte, r rune) []byte {
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
}
