package jsonscan

// The functions of this file go through text that a Scanner has accepted.

// IsSpace reports white space between tokens.
func IsSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// Space returns the offset of the first byte from i on that is not white space.
func Space[T Text](b T, i int) int {
	for i < len(b) && IsSpace(b[i]) {
		i++
	}
	return i
}

// ValueEnd returns the offset behind the value that begins at i.
func ValueEnd[T Text](b T, i int) int {
	switch b[i] {
	case '"':
		return StringEnd(b, i)
	case '{', '[':
		depth := 0
		for i < len(b) {
			switch b[i] {
			case '"':
				i = StringEnd(b, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				depth--
			}
			if i++; depth == 0 {
				return i
			}
		}
		return i
	}
	for i < len(b) && !IsSpace(b[i]) && b[i] != ',' && b[i] != '}' && b[i] != ']' {
		i++
	}
	return i
}

// StringEnd returns the offset behind the string that begins at i.
func StringEnd[T Text](b T, i int) int {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

// TypeOf names the type of the value that begins with c the way people do.
func TypeOf(c byte) string {
	switch c {
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

// The range of surrogates. The low ones are the second halves of pairs.
const (
	SurrogateMin    = 0xd800
	LowSurrogateMin = 0xdc00
	SurrogateMax    = 0xdfff
)

// Hex4 reads the four hex digits that follow \u at the beginning of b.
func Hex4[T Text](b T) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	var r rune
	for i := 2; i < 6; i++ {
		d := hexDigit(b[i])
		if d < 0 {
			return 0, false
		}
		r = r<<4 | d
	}
	return r, true
}

func hexDigit(c byte) rune {
	switch {
	case c >= '0' && c <= '9':
		return rune(c - '0')
	case c >= 'a' && c <= 'f':
		return rune(c - 'a' + 10)
	case c >= 'A' && c <= 'F':
		return rune(c - 'A' + 10)
	}
	return -1
}
