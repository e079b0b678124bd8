package waggle

import (
	"strings"
	"unicode/utf8"
)

// The functions of this file take apart JSON that scan has accepted. They look
// one level deep and share the bytes of the text, so that a value can be kept
// exactly as it stood.

// member is one key of an object, with its value's bytes.
type member struct {
	key string // unquoted
	lit string // the key as written, with quotes
	raw string // the value as written
}

// members splits an object, in the order of the text, duplicates included.
func members(object string) []member {
	list := make([]member, 0, 8)
	for i := skipSpace(object, 1); i < len(object) && object[i] != '}'; {
		end := skipValue(object, i)
		m := member{lit: object[i:end]}
		m.key = unquote(m.lit)
		i = skipSpace(object, skipSpace(object, end)+1) // over the colon
		end = skipValue(object, i)
		m.raw = object[i:end]
		list = append(list, m)
		i = skipSpace(object, end)
		if i < len(object) && object[i] == ',' {
			i = skipSpace(object, i+1)
		}
	}
	return list
}

// items splits an array.
func items(array string) []string {
	var list []string
	for i := skipSpace(array, 1); i < len(array) && array[i] != ']'; {
		end := skipValue(array, i)
		list = append(list, array[i:end])
		i = skipSpace(array, end)
		if i < len(array) && array[i] == ',' {
			i = skipSpace(array, i+1)
		}
	}
	return list
}

func skipSpace(s string, i int) int {
	for i < len(s) && isSpace(s[i]) {
		i++
	}
	return i
}

// skipValue returns the index behind the value that starts at i.
func skipValue(s string, i int) int {
	switch s[i] {
	case '"':
		return skipString(s, i)
	case '{', '[':
		depth := 0
		for i < len(s) {
			switch s[i] {
			case '"':
				i = skipString(s, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				depth--
			}
			i++
			if depth == 0 {
				break
			}
		}
		return i
	}
	for i < len(s) && !isSpace(s[i]) && s[i] != ',' && s[i] != '}' && s[i] != ']' {
		i++
	}
	return i
}

func skipString(s string, i int) int {
	for i++; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return i
}

// jsonType names the type of a value the way people do.
func jsonType(raw string) string {
	switch raw[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

// aType is jsonType with its article.
func aType(raw string) string {
	switch t := jsonType(raw); t {
	case "object", "array":
		return "an " + t
	case "null":
		return t
	default:
		return "a " + t
	}
}

const (
	surrogateMin    = 0xd800
	lowSurrogateMin = 0xdc00
	surrogateMax    = 0xdfff
)

// unquote returns the value of a string literal. A lone surrogate becomes the
// three bytes that UTF-8 would have for it (as in WTF-8): not valid UTF-8, so
// nothing downstream can mistake it for a character, and not lost either, so an
// envelope can be written back as it was. Bytes that are not UTF-8 stay.
func unquote(lit string) string {
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
	r, _ := hex4(s)
	if r < surrogateMin || r > surrogateMax {
		return utf8.AppendRune(dst, r), 6
	}
	if low, ok := hex4(s[6:]); ok && r < lowSurrogateMin && low >= lowSurrogateMin && low <= surrogateMax {
		return utf8.AppendRune(dst, 0x10000+(r-surrogateMin)<<10+(low-lowSurrogateMin)), 12
	}
	return append(dst, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f), 6
}

// hex4 reads the four hex digits that follow \u at the beginning of s.
func hex4(s string) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range []byte(s[2:6]) {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
