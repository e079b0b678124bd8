// Package cut keeps a part of what may be long: the beginning of a text, the beginning or the end of what a program
// writes.
package cut

import (
	"strings"
	"unicode/utf8"
)

// Runes shortens s to n characters, of which the last is then "…".
func Runes(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// Bytes shortens s to at most n bytes of whole characters, and "…".
func Bytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// Valid shortens what may be no UTF-8 to n bytes, and "…", and makes it valid.
func Valid(s string, n int) string {
	if len(s) > n {
		s = s[:n] + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// End keeps the last n bytes of what may be no UTF-8, and makes them valid.
func End(s string, n int) string {
	return strings.ToValidUTF8(s[max(0, len(s)-n):], "\uFFFD")
}

// Head is a writer that keeps the first Max bytes, and drops the rest. It embeds no bytes.Buffer, whose ReadFrom io.Copy
// would use.
type Head struct {
	Max  int
	Kept []byte
	Over bool // there was more
}

func (h *Head) Write(p []byte) (int, error) {
	n := min(len(p), h.Max-len(h.Kept))
	h.Kept, h.Over = append(h.Kept, p[:n]...), h.Over || n < len(p)
	return len(p), nil
}

// Tail is a writer that keeps the last Max bytes.
type Tail struct {
	Max  int
	Kept []byte
}

func (t *Tail) Write(p []byte) (int, error) {
	t.Kept = append(t.Kept, p[max(0, len(p)-t.Max):]...)
	if over := len(t.Kept) - t.Max; over > 0 {
		t.Kept = append(t.Kept[:0], t.Kept[over:]...)
	}
	return len(p), nil
}
