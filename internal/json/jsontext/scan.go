// Package jsontext is the one strict reader of JSON's grammar (RFC 8259), takes objects
// and arrays apart, and reads and writes the strings of JSON as JavaScript programs do,
// lone surrogates included. A Scanner checks a text and says where its values, keys and
// strings begin and end, without building anything:
//
//	s := jsontext.Scanner[string]{Text: text}
//	if !s.Document() {
//		return s.At // of the byte that is wrong
//	}
//
// It accepts exactly the texts that encoding/json accepts, but for nesting, which has no
// limit here unless MaxDepth is set. What encoding/json hides, a Scanner tells: duplicate
// keys, by OnKey; half a surrogate pair, by Surrogate; how deep a text nests, by Depth.
// No method recurses, so that a hostile text costs time and memory in proportion to its
// length. A byte order mark is not white space: callers that skip one do so before.
package jsontext

import (
	"math/bits"
	"strings"
	"unicode/utf16"
)

// Text is what is scanned.
type Text interface{ ~string | ~[]byte }

// Key is one key of an object, as OnKey is told of it.
type Key struct {
	Object     int // number of its object, from 1, in the order of the text
	Depth      int // of its object; the top-level value has depth 1
	Start, End int // of the key with its quotes
	Value      int // where its value is due; it was not read yet
}

// Scanner scans one text. Each method reads from an offset and returns the offset behind
// what it read, and false where the text is not JSON.
type Scanner[T Text] struct {
	Text     T
	MaxDepth int       // deepest nesting within one value; 0: any
	OnKey    func(Key) // told of every key; may be nil

	Depth     int  // deepest nesting that was seen
	Surrogate bool // a string has \ud800..\udfff without its other half
	At        int  // where a method that returned false found the text wrong: len(Text) when its end is missing

	open    []byte // brackets that are open
	objects []int  // numbers of the open objects, when OnKey is set
	count   int    // objects that were seen
}

// Document reads the whole text as one value with white space around it.
func (s *Scanner[T]) Document() bool {
	end, ok := s.Value(Space(s.Text, 0))
	if !ok {
		return false
	}
	if end = Space(s.Text, end); end != len(s.Text) {
		return s.fail(end)
	}
	return true
}

func (s *Scanner[T]) fail(at int) bool {
	s.At = min(at, len(s.Text))
	return false
}

// Value reads the value that begins at i.
func (s *Scanner[T]) Value(i int) (end int, ok bool) {
	b := s.Text
	s.open, s.objects = s.open[:0], s.objects[:0]
	for {
		// A value is due at i.
		if i >= len(b) {
			return 0, s.fail(i)
		}
		switch c := b[i]; c {
		case '"':
			i, ok = s.String(i)
		case '{', '[':
			if s.MaxDepth > 0 && len(s.open) == s.MaxDepth {
				return 0, s.fail(i)
			}
			s.Depth = max(s.Depth, len(s.open)+1)
			if c == '{' {
				s.count++
			}
			j := Space(b, i+1)
			if j < len(b) && b[j] == c+2 { // the closing bracket in ASCII
				i, ok = j+1, true
				break
			}
			s.open = append(s.open, c)
			if i = j; c == '{' {
				if s.OnKey != nil {
					s.objects = append(s.objects, s.count)
				}
				if i, ok = s.key(i); !ok {
					return 0, false
				}
			}
			continue
		default:
			i, ok = s.scalar(i)
		}
		if !ok {
			return 0, false
		}
		if i, ok = s.after(i); !ok {
			return 0, false
		}
		if len(s.open) == 0 {
			return i, true
		}
	}
}

// after goes on behind a value: to the next value within the innermost bracket, closing
// what closes; with nothing open, it stays.
func (s *Scanner[T]) after(i int) (next int, ok bool) {
	b := s.Text
	for len(s.open) > 0 {
		top := s.open[len(s.open)-1]
		if i = Space(b, i); i >= len(b) {
			return 0, s.fail(i)
		}
		switch b[i] {
		case ',':
			if i = Space(b, i+1); top == '{' {
				return s.key(i)
			}
			return i, true
		case top + 2:
			s.open = s.open[:len(s.open)-1]
			if top == '{' && s.OnKey != nil {
				s.objects = s.objects[:len(s.objects)-1]
			}
			i++
		default:
			return 0, s.fail(i)
		}
	}
	return i, true
}

// key reads a key and its colon, up to its value, and tells OnKey.
func (s *Scanner[T]) key(i int) (value int, ok bool) {
	end, value, ok := s.name(i)
	if ok && s.OnKey != nil {
		s.OnKey(Key{s.objects[len(s.objects)-1], len(s.open), i, end, value})
	}
	return value, ok
}

// name reads a key and its colon, up to its value.
func (s *Scanner[T]) name(i int) (end, value int, ok bool) {
	if i >= len(s.Text) || s.Text[i] != '"' {
		return 0, 0, s.fail(i)
	}
	if end, ok = s.String(i); !ok {
		return 0, 0, false
	}
	if i = Space(s.Text, end); i >= len(s.Text) || s.Text[i] != ':' {
		return 0, 0, s.fail(i)
	}
	return end, Space(s.Text, i+1), true
}

// Span is where the key (with quotes) and the value of a member lie.
type Span struct{ Key, KeyEnd, Value, End int }

// Object reads the object that begins at i and shows each of its own members. OnKey is
// told only of the keys within their values.
func (s *Scanner[T]) Object(i int, each func(Span)) (end int, ok bool) {
	b := s.Text
	if i = Space(b, i+1); i < len(b) && b[i] == '}' {
		return i + 1, true
	}
	for {
		m := Span{Key: i}
		if m.KeyEnd, m.Value, ok = s.name(i); !ok {
			return 0, false
		}
		if m.End, ok = s.Value(m.Value); !ok {
			return 0, false
		}
		each(m)
		i = Space(b, m.End)
		switch {
		case i < len(b) && b[i] == ',':
			i = Space(b, i+1)
		case i < len(b) && b[i] == '}':
			return i + 1, true
		default:
			return 0, s.fail(i)
		}
	}
}

// String reads the string that begins at i, eight bytes at a time where nothing in them
// is special.
func (s *Scanner[T]) String(i int) (end int, ok bool) {
	b := s.Text
	for i++; ; {
		for i+8 <= len(b) {
			m := special(eight(b[i : i+8]))
			if m != 0 {
				i += bits.TrailingZeros64(m) / 8
				break
			}
			i += 8
		}
		if i >= len(b) {
			return 0, s.fail(i)
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1, true
		case c == '\\':
			if i, ok = s.escape(i); !ok {
				return 0, false
			}
		case c < ' ':
			return 0, s.fail(i)
		default:
			i++
		}
	}
}

// eight reads eight bytes, the first lowest.
func eight[T Text](b T) uint64 {
	_ = b[7]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}

// special sets the high bit of the lowest byte of w that is a quote, a backslash or a
// control character (and of none below it).
func special(w uint64) uint64 {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	quote, slash := w^'"'*ones, w^'\\'*ones
	return ((quote-ones)&^quote | (slash-ones)&^slash | (w-' '*ones)&^w) & highs
}

// escape reads one escape sequence, or a surrogate pair of two.
func (s *Scanner[T]) escape(i int) (next int, ok bool) {
	b := s.Text
	if i+1 >= len(b) {
		return 0, s.fail(i + 1)
	}
	switch b[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2, true
	case 'u':
	default:
		return 0, s.fail(i + 1)
	}
	r, n, ok := escaped(b[i:])
	for j := i + 2; !ok; j++ {
		if j >= len(b) || strings.IndexByte("0123456789abcdefABCDEF", b[j]) < 0 {
			return 0, s.fail(j)
		}
	}
	s.Surrogate = s.Surrogate || utf16.IsSurrogate(r)
	return i + n, true
}

// scalar reads a literal or a number.
func (s *Scanner[T]) scalar(i int) (end int, ok bool) {
	switch c := s.Text[i]; {
	case c == 't':
		return s.literal(i, "true")
	case c == 'f':
		return s.literal(i, "false")
	case c == 'n':
		return s.literal(i, "null")
	case c == '-', c >= '0' && c <= '9':
		return s.number(i)
	}
	return 0, s.fail(i)
}

func (s *Scanner[T]) literal(i int, word string) (end int, ok bool) {
	for j := range len(word) {
		if i+j >= len(s.Text) || s.Text[i+j] != word[j] {
			return 0, s.fail(i + j)
		}
	}
	return i + len(word), true
}

func (s *Scanner[T]) number(i int) (end int, ok bool) {
	b := s.Text
	if b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if i, ok = s.digits(i); !ok {
		return 0, false
	}
	if i < len(b) && b[i] == '.' {
		if i, ok = s.digits(i + 1); !ok {
			return 0, false
		}
	}
	if i < len(b) && b[i]|' ' == 'e' {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		return s.digits(i)
	}
	return i, true
}

func (s *Scanner[T]) digits(i int) (end int, ok bool) {
	from := i
	for i < len(s.Text) && s.Text[i] >= '0' && s.Text[i] <= '9' {
		i++
	}
	if i == from {
		return 0, s.fail(i)
	}
	return i, true
}
