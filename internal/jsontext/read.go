package jsontext

import (
	"strings"
	"unicode/utf8"
	"waggle/internal/jsonscan"
)

// TypeOf names the type of a value the way people do.
func TypeOf(raw string) string { return jsonscan.TypeOf(raw[0]) }

// WithArticle is TypeOf with its article.
func WithArticle(raw string) string {
	switch t := TypeOf(raw); t {
	case "object", "array":
		return "an " + t
	case "null":
		return t
	default:
		return "a " + t
	}
}

// Unquote returns the value of a string literal. A lone surrogate becomes the
// three bytes that UTF-8 would have for it (as in WTF-8): not valid UTF-8, so
// nothing downstream can mistake it for a character, and not lost either, so an
// envelope can be written back as it was. Bytes that are not UTF-8 stay.
func Unquote(lit string) string {
	body := lit[1 : len(lit)-1]
	at := strings.IndexByte(body, '\\')
	if at < 0 {
		return body
	}
	out := make([]byte, 0, len(body))
	for at >= 0 {
		out = append(out, body[:at]...)
		var n int
		out, n = appendUnescaped(out, body[at:])
		body = body[at+n:]
		at = strings.IndexByte(body, '\\')
	}
	return string(append(out, body...))
}

// appendUnescaped appends the character of the escape sequence that s starts
// with and returns the length of the sequence.
func appendUnescaped(dst []byte, s string) ([]byte, int) {
	switch s[1] {
	case 'b':
		return append(dst, '\b'), 2
	case 'f':
		return append(dst, '\f'), 2
	case 'n':
		return append(dst, '\n'), 2
	case 'r':
		return append(dst, '\r'), 2
	case 't':
		return append(dst, '\t'), 2
	case 'u':
	default:
		return append(dst, s[1]), 2
	}
	r, _ := jsonscan.Hex4(s)
	if r < jsonscan.SurrogateMin || r > jsonscan.SurrogateMax {
		return utf8.AppendRune(dst, r), 6
	}
	if low, ok := jsonscan.Hex4(s[6:]); ok && r < jsonscan.LowSurrogateMin && low >= jsonscan.LowSurrogateMin && low <= jsonscan.SurrogateMax {
		return utf8.AppendRune(dst, 0x10000+(r-jsonscan.SurrogateMin)<<10+(low-jsonscan.LowSurrogateMin)), 12
	}
	return append(dst, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f), 6
}
