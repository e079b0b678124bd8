package jsontext

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

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
	if k := strings.IndexByte("bfnrt", s[1]); k >= 0 {
		return append(dst, "\b\f\n\r\t"[k]), 2
	}
	if s[1] != 'u' {
		return append(dst, s[1]), 2
	}
	r, n, _ := escaped(s)
	if utf16.IsSurrogate(r) {
		return append(dst, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f), n
	}
	return utf8.AppendRune(dst, r), n
}

// escaped reads the \uXXXX that b begins with, or the two of a surrogate pair: its
// character, half a pair as it is, and its length.
func escaped[T Text](b T) (r rune, n int, ok bool) {
	if r, ok = hex4(b); utf16.IsSurrogate(r) {
		if low, _ := hex4(b[6:]); utf16.DecodeRune(r, low) != utf8.RuneError {
			return utf16.DecodeRune(r, low), 12, true
		}
	}
	return r, 6, ok
}

func hex4[T Text](b T) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 32)
	return rune(n), err == nil
}
