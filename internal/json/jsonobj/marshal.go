package jsonobj

import (
	"fmt"
	"unicode/utf16"
	"unicode/utf8"

	"waggle/internal/json/jsontext"
)

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
