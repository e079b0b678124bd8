package jsontext

// The functions of this file go through text that a Scanner has accepted. They share its
// bytes, so that a value can be kept exactly as it stood.

// isSpace reports white space between tokens.
func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// Space returns the offset of the first byte from i on that is not white space.
func Space[T Text](b T, i int) int {
	for i < len(b) && isSpace(b[i]) {
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

// TypeOf names the type of a value the way people do; "nothing" when there is none.
func TypeOf[T Text](raw T) string {
	i := Space(raw, 0)
	if i == len(raw) {
		return "nothing"
	}
	switch raw[i] {
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

// Member is one key of an object, with its value's bytes.
type Member struct {
	Key string // unquoted
	Lit string // the key as written, with quotes
	Raw string // the value as written
}

// Members splits an object, in the order of the text, duplicates included.
func Members(object string) []Member {
	list := make([]Member, 0, 8)
	s := Scanner[string]{Text: object}
	s.Object(0, func(m Span) {
		lit := object[m.Key:m.KeyEnd]
		list = append(list, Member{Unquote(lit), lit, object[m.Value:m.End]})
	})
	return list
}

// Items splits an array.
func Items[T Text](array T) []T {
	var list []T
	s := Scanner[T]{Text: array}
	for i := Space(array, Space(array, 0)+1); i < len(array) && array[i] != ']'; {
		end, ok := s.Value(i)
		if !ok {
			break
		}
		list = append(list, array[i:end])
		if i = Space(array, end); i < len(array) && array[i] == ',' {
			i = Space(array, i+1)
		}
	}
	return list
}
