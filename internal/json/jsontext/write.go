package jsontext

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// AppendString appends s as JSON.stringify writes a string: short escapes for
// the five control characters that have one, \u00xx in lower case for the
// others, everything else as it is, U+2028 and HTML's characters included. The
// bytes of a lone surrogate (see Unquote) become its escape again; other bytes
// that are not UTF-8 become U+FFFD, as they do when a JavaScript program reads
// the file.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r != utf8.RuneError || n != 1 {
				i += n
				continue
			}
			dst = append(dst, s[start:i]...)
			if r, ok := surrogateAt(s[i:]); ok {
				dst = fmt.Appendf(dst, `\u%04x`, r)
				i += 3
			} else {
				dst = append(dst, "\uFFFD"...)
				i++
			}
			start = i
			continue
		}
		dst = append(dst, s[start:i]...)
		dst = appendEscaped(dst, c)
		i++
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

func appendEscaped(dst []byte, c byte) []byte {
	if k := strings.IndexByte("\"\\\b\f\n\r\t", c); k >= 0 {
		return append(dst, '\\', `"\bfnrt`[k])
	}
	return fmt.Appendf(dst, `\u%04x`, c)
}

// surrogateAt reads the three bytes that Unquote makes of a lone surrogate.
func surrogateAt(s string) (rune, bool) {
	if len(s) < 3 || s[0] != 0xed || s[1] < 0xa0 || s[1] > 0xbf || s[2]&0xc0 != 0x80 {
		return 0, false
	}
	return rune(s[0]&15)<<12 | rune(s[1]&0x3f)<<6 | rune(s[2]&0x3f), true
}

// MaxIndent is how deep AppendIndent indents.
const MaxIndent = 128

// AppendIndent appends valid JSON with its white space replaced by that of
// JSON.stringify(value, null, 2) at the given depth: every line but the first is
// indented for it. Strings and numbers keep their bytes. What stands deeper than
// MaxIndent stays on one line: the space before its lines would grow with the square of
// the depth, which whoever wrote the value chooses.
func AppendIndent[T Text](dst []byte, raw T, depth int) []byte {
	newline := func() {
		if depth <= MaxIndent {
			dst = append(dst, '\n')
			for range depth {
				dst = append(dst, "  "...)
			}
		}
	}
	for i := 0; i < len(raw); {
		switch c := raw[i]; c {
		case ' ', '\t', '\n', '\r':
		case '"':
			end := StringEnd(raw, i)
			dst = append(dst, raw[i:end]...)
			i = end
			continue
		case '{', '[':
			dst = append(dst, c)
			if next := Space(raw, i+1); raw[next] == c+2 { // '}' and ']' are two after their openers
				dst = append(dst, c+2)
				i = next
				break
			}
			depth++
			newline()
		case '}', ']':
			depth--
			newline()
			dst = append(dst, c)
		case ',':
			dst = append(dst, c)
			newline()
		case ':':
			dst = append(dst, ": "...)
		default:
			dst = append(dst, c)
		}
		i++
	}
	return dst
}

// AppendCompact appends valid JSON without the white space between its tokens, whose
// bytes stay.
func AppendCompact[T Text](dst []byte, raw T) []byte {
	for i := 0; i < len(raw); {
		end := i + 1
		if raw[i] == '"' {
			end = StringEnd(raw, i)
		}
		if !isSpace(raw[i]) {
			dst = append(dst, raw[i:end]...)
		}
		i = end
	}
	return dst
}
