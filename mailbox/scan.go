package mailbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"waggle/internal/json/jsontext"
)

// This file checks a whole file against RFC 8259 and finds where its entries begin and end and
// whether they are marked read, without building values. It accepts exactly what encoding/json
// accepts, except for a byte order mark in front and the depth.

const (
	// maxElements bounds the memory for a file of "0,0,0,…", which would be a hundred times its
	// size.
	maxElements = 1 << 20
	maxDepth    = 1 << 20
)

var (
	errEmpty      = errors.New("the file is empty")
	errNotArray   = errors.New("not a JSON array")
	errTooMany    = fmt.Errorf("%w: more than %d entries", ErrTooLarge, maxElements)
	byteOrderMark = []byte("\xef\xbb\xbf")
)

// brokenError is the offset where a file stops being a JSON array.
type brokenError struct{ at int }

func (e *brokenError) Error() string { return fmt.Sprintf("not valid JSON from byte %d on", e.at) }

// readFlag is the value of an entry's top-level key read. Of several, the last counts, as in
// JSON.parse.
type readFlag byte

const (
	readMissing readFlag = iota
	readFalse            // false, or anything else that is not true
	readTrue
)

type element struct {
	start, end int
	read       readFlag
	// The bytes between the quotes of its timestamp, by which entries of equal content are found;
	// 0, 0 if it has none. wild: these bytes cannot be compared, because of escapes or a second
	// timestamp.
	stamp, stampEnd int
	wild            bool
}

// array is the result of a scan. After an error elems are the complete elements before it.
type array struct {
	open, close int // offsets of the brackets; of a layout of lines -1
	elems       []element
	same        int      // the number of leading elements that equal, byte for byte, those of the content that scan compared with
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

// scan reads data, which may begin like old, as one JSON array: the equal part is not scanned again. The error is
// errEmpty, errNotArray, errTooMany or a *brokenError.
func (arrayFormat) scan(data []byte, old *contents) (array, error) {
	a := array{open: -1, close: -1, torn: -1}
	s := newScanner(data)
	if done := old.common(data); len(done) > 0 {
		a.open = old.array.open
		a.elems = append(make([]element, 0, len(done)+16), done...)
		a.same = len(done)
		return more(s, a)
	}
	if len(data) == 0 {
		return a, errEmpty
	}
	i := 0
	if bytes.HasPrefix(data, byteOrderMark) {
		i = len(byteOrderMark)
	}
	i = jsontext.Space(data, i)
	if i == len(data) || data[i] != '[' {
		return a, errNotArray
	}
	a.open = i
	i = jsontext.Space(data, i+1)
	if i < len(data) && data[i] == ']' {
		a.close = i
		return a, end(data, i+1)
	}
	e, ok := elementAt(s, i)
	if !ok {
		return a, &brokenError{i}
	}
	a.elems = append(a.elems, e)
	return more(s, a)
}

// more scans the bytes behind the last element of a.
func more(s *scanner, a array) (array, error) {
	data := s.Text
	for {
		i := jsontext.Space(data, a.lastEnd())
		if i < len(data) && data[i] == ']' {
			a.close = i
			return a, end(data, i+1)
		}
		if i == len(data) || data[i] != ',' {
			return a, &brokenError{i}
		}
		i = jsontext.Space(data, i+1)
		e, ok := elementAt(s, i)
		if !ok {
			return a, &brokenError{i}
		}
		if len(a.elems) == maxElements {
			return a, errTooMany
		}
		a.elems = append(a.elems, e)
	}
}

// invalid reports whether an error means that the file is broken; a writer in progress may complete
// it.
func invalid(err error) bool {
	var broken *brokenError
	var garbage *garbageError
	return errors.Is(err, errEmpty) || errors.Is(err, errNotArray) || errors.As(err, &broken) || errors.As(err, &garbage)
}

// scanner reads elements. A member's value may nest to maxDepth.
type scanner = jsontext.Scanner[[]byte]

func newScanner(b []byte) *scanner { return &scanner{Text: b, MaxDepth: maxDepth} }

// end returns an error unless only white space follows.
func end(b []byte, i int) error {
	if i = jsontext.Space(b, i); i != len(b) {
		return &brokenError{i}
	}
	return nil
}

// elementAt scans one element and finds the value of its own key read.
func elementAt(s *scanner, i int) (element, bool) {
	b := s.Text
	e := element{start: i}
	if i >= len(b) || b[i] != '{' {
		end, ok := s.Value(i)
		e.end = end
		return e, ok
	}
	end, ok := s.Object(i, func(m jsontext.Span) {
		switch key := b[m.Key:m.KeyEnd]; {
		case isKey(key, "read"):
			e.read = readFalse
			if string(b[m.Value:m.End]) == "true" {
				e.read = readTrue
			}
		case isKey(key, "timestamp"):
			if b[m.Value] == '"' {
				e.wild = e.wild || e.stamp > 0 || bytes.IndexByte(b[m.Value:m.End], '\\') >= 0
				e.stamp, e.stampEnd = m.Value+1, m.End-1
			}
		}
	})
	e.end = end
	return e, ok
}

// members returns the members of raw, which must be one whole object.
func members(raw []byte) ([]jsontext.Span, bool) {
	if len(raw) == 0 || raw[0] != '{' {
		return nil, false
	}
	var all []jsontext.Span
	end, ok := newScanner(raw).Object(0, func(m jsontext.Span) { all = append(all, m) })
	return all, ok && end == len(raw)
}

// isKey compares a key literal, with its quotes, with a plain name.
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
