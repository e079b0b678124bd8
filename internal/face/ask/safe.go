package ask

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// style matches what sets colours and weight, and nothing else.
var style = regexp.MustCompile("^\x1b\\[[0-9;:]*m")

// safe is the last guard before the terminal: of text of several lines it leaves line
// ends, tabs and colours, and writes out what moves the cursor or cannot be seen. Whoever
// asks has made its text readable before; this holds when it has not.
func safe(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		if n := len(style.FindString(s)); n > 0 {
			b.WriteString(s[:n])
			s = s[n:]
			continue
		}
		n := writeSafe(&b, s, "\n\t")
		s = s[n:]
	}
	return b.String()
}

// safeLine is safe for a part of a line.
func safeLine(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		s = s[writeSafe(&b, s, ""):]
	}
	return b.String()
}

// writeSafe writes the first character of s, and returns its length.
func writeSafe(b *strings.Builder, s, also string) int {
	r, n := utf8.DecodeRuneInString(s)
	switch {
	case r == utf8.RuneError && n == 1:
		fmt.Fprintf(b, `\x{%02x}`, s[0])
	case unicode.IsGraphic(r) || strings.ContainsRune(also, r):
		b.WriteRune(r)
	default:
		fmt.Fprintf(b, `\u{%04x}`, r)
	}
	return n
}
