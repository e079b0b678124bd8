package mailbox

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
)

// The scanner checks a whole file against RFC 8259 and finds where its entries
// begin and end and whether they are marked read, without building anything.
// It accepts exactly what encoding/json accepts, up to a byte order
// mark in front and the depth.

const (
	// maxElements keeps a file of "0,0,0,…" from costing a hundred times its size
	// in memory.
	maxElements = 1 << 20
	maxDepth    = 1 << 20
)

var (
	errEmpty       = errors.New("the file is empty")
	errNotArray    = errors.New("not a JSON array")
	errTooMany     = fmt.Errorf("%w: more than %d entries", ErrTooLarge, maxElements)
	byteOrderMark  = []byte("\xef\xbb\xbf")
	literalStrings = [...]string{"true", "false", "null"}
)

// brokenError says where a file stops being a JSON array.
type brokenError struct{ at int }

func (e *brokenError) Error() string { return fmt.Sprintf("not valid JSON from byte %d on", e.at) }

// readFlag is what an entry's top-level key read says. Of several, JSON.parse and
// therefore we believe the last.
type readFlag byte

const (
	readMissing readFlag = iota
	readFalse            // false, or anything else that is not true
	readTrue
)

type element struct {
	start, end int
	read       readFlag
	// The bytes between the quotes of its timestamp, by which entries of equal
	// content are looked for; 0, 0 if it has none. wild: these bytes do not tell,
	// because of escapes or a second timestamp.
	stamp, stampEnd int
	wild            bool
}

// array is what a scan found. After an error elems are the complete elements
// before it.
type array struct {
	open, close int // offsets of the brackets; of a layout of lines -1
	elems       []element
	same        int      // so many of them are, byte for byte, those of the content that rescan compared with
	bad         [][2]int // of a layout of lines: where garbage begins and ends
	torn        int      // of a layout of lines: where an unfinished last line begins, or -1
}

// lastEnd is where the last element ends, or the position behind the opening
// bracket.
func (a array) lastEnd() int {
	if len(a.elems) == 0 {
		return a.open + 1
	}
	return a.elems[len(a.elems)-1].end
}

// scanArray reads data as one JSON array. The error is errEmpty, errNotArray,
// errTooMany or a *brokenError.
func scanArray(data []byte) (array, error) { return rescan(data, nil) }

// rescan is scanArray for data that may begin like old: what is the same is not
// looked at again.
func rescan(data []byte, old *contents) (array, error) {
	a := array{open: -1, close: -1, torn: -1}
	s := scanner{b: data}
	if done := old.common(data); len(done) > 0 {
		a.open = old.array.open
		a.elems = append(make([]element, 0, len(done)+16), done...)
		a.same = len(done)
		return s.more(a)
	}
	if len(data) == 0 {
		return a, errEmpty
	}
	i := 0
	if bytes.HasPrefix(data, byteOrderMark) {
		i = len(byteOrderMark)
	}
	i = space(data, i)
	if i == len(data) || data[i] != '[' {
		return a, errNotArray
	}
	a.open = i
	i = space(data, i+1)
	if i < len(data) && data[i] == ']' {
		a.close = i
		return a, s.end(i + 1)
	}
	e, ok := s.element(i)
	if !ok {
		return a, &brokenError{i}
	}
	a.elems = append(a.elems, e)
	return s.more(a)
}

// more scans what follows the last element of a.
func (s *scanner) more(a array) (array, error) {
	data := s.b
	for {
		i := space(data, a.lastEnd())
		if i < len(data) && data[i] == ']' {
			a.close = i
			return a, s.end(i + 1)
		}
		if i == len(data) || data[i] != ',' {
			return a, &brokenError{i}
		}
		i = space(data, i+1)
		e, ok := s.element(i)
		if !ok {
			return a, &brokenError{i}
		}
		if len(a.elems) == maxElements {
			return a, errTooMany
		}
		a.elems = append(a.elems, e)
	}
}

// invalid reports an error that says the file is broken, which a writer in the
// middle of its work may be about to change.
func invalid(err error) bool {
	var broken *brokenError
	var garbage *garbageError
	return errors.Is(err, errEmpty) || errors.Is(err, errNotArray) || errors.As(err, &broken) || errors.As(err, &garbage)
}

type scanner struct {
	b     []byte
	stack []byte // brackets that are open within the value
}

func (s *scanner) end(i int) error {
	if i = space(s.b, i); i != len(s.b) {
		return &brokenError{i}
	}
	return nil
}

// element scans one element and looks for read among its own keys.
func (s *scanner) element(i int) (element, bool) {
	e := element{start: i}
	if i >= len(s.b) || s.b[i] != '{' {
		end, ok := s.value(i)
		e.end = end
		return e, ok
	}
	end, ok := s.object(i, func(m span) {
		switch key := s.b[m.key:m.keyEnd]; {
		case isKey(key, "read"):
			e.read = readFalse
			if string(s.b[m.val:m.valEnd]) == "true" {
				e.read = readTrue
			}
		case isKey(key, "timestamp"):
			if s.b[m.val] == '"' {
				e.wild = e.wild || e.stamp > 0 || bytes.IndexByte(s.b[m.val:m.valEnd], '\\') >= 0
				e.stamp, e.stampEnd = m.val+1, m.valEnd-1
			}
		}
	})
	e.end = end
	return e, ok
}

// span is one member of an object: where its key (with quotes) and value lie.
type span struct{ key, keyEnd, val, valEnd int }

// object scans the object at i and shows each of its own members.
func (s *scanner) object(i int, each func(span)) (end int, ok bool) {
	i = space(s.b, i+1)
	if i < len(s.b) && s.b[i] == '}' {
		return i + 1, true
	}
	for {
		m := span{key: i}
		if m.keyEnd, ok = s.str(i); !ok {
			return 0, false
		}
		if i = space(s.b, m.keyEnd); i >= len(s.b) || s.b[i] != ':' {
			return 0, false
		}
		m.val = space(s.b, i+1)
		if m.valEnd, ok = s.value(m.val); !ok {
			return 0, false
		}
		each(m)
		i = space(s.b, m.valEnd)
		switch {
		case i < len(s.b) && s.b[i] == ',':
			i = space(s.b, i+1)
		case i < len(s.b) && s.b[i] == '}':
			return i + 1, true
		default:
			return 0, false
		}
	}
}

// members returns the members of raw, which must be one whole object.
func (s *scanner) members(raw []byte) ([]span, bool) {
	if len(raw) == 0 || raw[0] != '{' {
		return nil, false
	}
	s.b = raw
	var all []span
	end, ok := s.object(0, func(m span) { all = append(all, m) })
	return all, ok && end == len(raw)
}

// isKey compares a key as it stands, quotes included, with a plain name.
func isKey(lit []byte, name string) bool {
	if len(lit) == len(name)+2 {
		return string(lit[1:len(lit)-1]) == name
	}
	if bytes.IndexByte(lit, '\\') < 0 {
		return false
	}
	var key string
	return json.Unmarshal(lit, &key) == nil && key == name
}

// value scans the value at i, without recursion: a hostile file is deep.
func (s *scanner) value(i int) (end int, ok bool) {
	b := s.b
	s.stack = s.stack[:0]
	for {
		// A value is due at i.
		if i >= len(b) {
			return 0, false
		}
		switch c := b[i]; c {
		case '"':
			i, ok = s.str(i)
		case '{', '[':
			j := space(b, i+1)
			if j < len(b) && b[j] == c+2 { // the closing bracket in ASCII
				i, ok = j+1, true
				break
			}
			if len(s.stack) == maxDepth {
				return 0, false
			}
			s.stack = append(s.stack, c)
			if i = j; c == '{' {
				if i, ok = s.keyColon(i); !ok {
					return 0, false
				}
			}
			continue
		default:
			i, ok = scalar(b, i)
		}
		if !ok {
			return 0, false
		}
		if i, ok = s.after(i); !ok {
			return 0, false
		}
		if len(s.stack) == 0 {
			return i, true
		}
	}
}

// after goes on behind a value: to the next value within the innermost bracket,
// closing what closes; with nothing open, it stays.
func (s *scanner) after(i int) (next int, ok bool) {
	b := s.b
	for len(s.stack) > 0 {
		top := s.stack[len(s.stack)-1]
		if i = space(b, i); i >= len(b) {
			return 0, false
		}
		switch b[i] {
		case ',':
			if i = space(b, i+1); top == '{' {
				return s.keyColon(i)
			}
			return i, true
		case top + 2:
			s.stack = s.stack[:len(s.stack)-1]
			i++
		default:
			return 0, false
		}
	}
	return i, true
}

func (s *scanner) keyColon(i int) (next int, ok bool) {
	if i, ok = s.str(i); !ok {
		return 0, false
	}
	if i = space(s.b, i); i >= len(s.b) || s.b[i] != ':' {
		return 0, false
	}
	return space(s.b, i+1), true
}

// str scans a string, eight bytes at a time where nothing in them is special.
func (s *scanner) str(i int) (end int, ok bool) {
	b := s.b
	if i >= len(b) || b[i] != '"' {
		return 0, false
	}
	for i++; ; {
		for i+8 <= len(b) {
			m := special(binary.LittleEndian.Uint64(b[i:]))
			if m != 0 {
				i += bits.TrailingZeros64(m) / 8
				break
			}
			i += 8
		}
		if i >= len(b) {
			return 0, false
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1, true
		case c == '\\':
			if i, ok = escape(b, i); !ok {
				return 0, false
			}
		case c < ' ':
			return 0, false
		default:
			i++
		}
	}
}

// special sets the high bit of the lowest byte of w that is a quote, a backslash
// or a control character (and of none below it).
func special(w uint64) uint64 {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	quote, slash := w^'"'*ones, w^'\\'*ones
	return ((quote-ones)&^quote | (slash-ones)&^slash | (w-' '*ones)&^w) & highs
}

func escape(b []byte, i int) (next int, ok bool) {
	if i+1 >= len(b) {
		return 0, false
	}
	switch b[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2, true
	case 'u':
		if i+6 > len(b) {
			return 0, false
		}
		for _, c := range b[i+2 : i+6] {
			if (c < '0' || c > '9') && (c|' ' < 'a' || c|' ' > 'f') {
				return 0, false
			}
		}
		return i + 6, true
	}
	return 0, false
}

// scalar scans a literal or a number.
func scalar(b []byte, i int) (end int, ok bool) {
	for _, lit := range literalStrings {
		if b[i] == lit[0] {
			end = i + len(lit)
			return end, end <= len(b) && string(b[i:end]) == lit
		}
	}
	if b[i] == '-' {
		i++
	}
	switch {
	case i < len(b) && b[i] == '0':
		i++
	default:
		if i, ok = digits(b, i); !ok {
			return 0, false
		}
	}
	if i < len(b) && b[i] == '.' {
		if i, ok = digits(b, i+1); !ok {
			return 0, false
		}
	}
	if i < len(b) && b[i]|' ' == 'e' {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		return digits(b, i)
	}
	return i, true
}

func digits(b []byte, i int) (end int, ok bool) {
	from := i
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	return i, i > from
}

func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}
