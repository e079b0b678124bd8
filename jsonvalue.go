package waggle

import (
	"strings"
	"unicode/utf8"

	"waggle/internal/jsonscan"
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
	for i := jsonscan.Space(object, 1); i < len(object) && object[i] != '}'; {
		end := jsonscan.ValueEnd(object, i)
		m := member{lit: object[i:end]}
		m.key = unquote(m.lit)
		i = jsonscan.Space(object, jsonscan.Space(object, end)+1) // over the colon
		end = jsonscan.ValueEnd(object, i)
		m.raw = object[i:end]
		list = append(list, m)
		i = jsonscan.Space(object, end)
		if i < len(object) && object[i] == ',' {
			i = jsonscan.Space(object, i+1)
		}
	}
	return list
}

// items splits an array.
func items(array string) []string {
	var list []string
	for i := jsonscan.Space(array, 1); i < len(array) && array[i] != ']'; {
		end := jsonscan.ValueEnd(array, i)
		list = append(list, array[i:end])
		i = jsonscan.Space(array, end)
		if i < len(array) && array[i] == ',' {
			i = jsonscan.Space(array, i+1)
		}
	}
	return list
}

// jsonType names the type of a value the way people do.
func jsonType(raw string) string { return jsonscan.TypeOf(raw[0]) }

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
	r, _ := jsonscan.Hex4(s)
	if r < jsonscan.SurrogateMin || r > jsonscan.SurrogateMax {
		return utf8.AppendRune(dst, r), 6
	}
	if low, ok := jsonscan.Hex4(s[6:]); ok && r < jsonscan.LowSurrogateMin && low >= jsonscan.LowSurrogateMin && low <= jsonscan.SurrogateMax {
		return utf8.AppendRune(dst, 0x10000+(r-jsonscan.SurrogateMin)<<10+(low-jsonscan.LowSurrogateMin)), 12
	}
	return append(dst, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f), 6
}
