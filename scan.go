package waggle

import (
	"slices"
	"unicode/utf8"
)

// facts is what one pass over a JSON text learns without building anything. The
// pass is iterative and remembers at most MaxKeys keys, so that a hostile text
// costs time in proportion to its length and no more.
type facts struct {
	depth     int      // deepest nesting; the top-level value has depth 1
	keys      int      // object keys, all levels together
	badUTF8   bool     // a string holds bytes that are not UTF-8
	surrogate bool     // a string holds \ud800..\udfff without its other half
	twice     *string  // the first key that an object holds twice
	types     []string // string values of top-level "type" keys, in order
	typeKeys  int      // top-level "type" keys, whatever their value
}

// tooBig reports whether the text is beyond what Decode reads.
func (f *facts) tooBig() bool { return f.depth > MaxDepth || f.keys > MaxKeys }

type scopedKey struct {
	object int
	key    string
}

// scanner checks that a text is exactly one JSON value (RFC 8259), with white
// space around it. Go's own decoder is not used because it hides what matters
// here: duplicate keys, keys that differ in case, lone surrogates and bad UTF-8.
type scanner struct {
	facts
	s       string
	i       int
	open    []byte                 // '{' and '[' that are not closed yet
	objects []int                  // the numbers of the open objects; parallel to the '{' in open
	count   int                    // objects seen
	few     [16]scopedKey          // the first keys
	seen    map[scopedKey]struct{} // the others
}

// scan reports whether s is one JSON value and what a first look finds in it.
func scan(s string) (*facts, bool) {
	sc := scanner{s: s}
	ok := sc.document()
	found := sc.facts // what the scanner itself holds is not kept
	return &found, ok
}

func (sc *scanner) document() bool {
	for {
		// A value is due.
		sc.space()
		opened, ok := sc.begin()
		if !ok {
			return false
		}
		if opened {
			continue
		}
		// A value has ended: close what ends with it, then a comma or the end.
		for {
			if len(sc.open) == 0 {
				sc.space()
				return sc.i == len(sc.s)
			}
			more, ok := sc.next()
			if !ok {
				return false
			}
			if more {
				break
			}
		}
	}
}

// begin reads a scalar or an empty container whole, or the opening of a
// container up to its first value.
func (sc *scanner) begin() (opened, ok bool) {
	if sc.i >= len(sc.s) {
		return false, false
	}
	switch c := sc.s[sc.i]; {
	case c == '{' || c == '[':
		return sc.enter(c)
	case c == '"':
		_, ok = sc.str()
		return false, ok
	case c == '-' || c >= '0' && c <= '9':
		return false, sc.number()
	}
	for _, word := range [...]string{"true", "false", "null"} {
		if len(sc.s)-sc.i >= len(word) && sc.s[sc.i:sc.i+len(word)] == word {
			sc.i += len(word)
			return false, true
		}
	}
	return false, false
}

func (sc *scanner) enter(c byte) (opened, ok bool) {
	sc.i++
	sc.open = append(sc.open, c)
	sc.depth = max(sc.depth, len(sc.open))
	sc.space()
	if c == '[' {
		if sc.peek() == ']' {
			sc.leave()
			return false, true
		}
		return true, true
	}
	sc.count++
	sc.objects = append(sc.objects, sc.count)
	if sc.peek() == '}' {
		sc.leave()
		return false, true
	}
	return true, sc.key()
}

func (sc *scanner) leave() {
	sc.i++
	last := len(sc.open) - 1
	if sc.open[last] == '{' {
		sc.objects = sc.objects[:len(sc.objects)-1]
	}
	sc.open = sc.open[:last]
}

// next reads what follows a value inside a container: a comma (and, in an
// object, the next key), or the closing bracket.
func (sc *scanner) next() (more, ok bool) {
	sc.space()
	in := sc.open[len(sc.open)-1]
	switch sc.peek() {
	case ',':
		sc.i++
		if in == '{' {
			sc.space()
			return true, sc.key()
		}
		return true, true
	case '}':
		if in != '{' {
			return false, false
		}
	case ']':
		if in != '[' {
			return false, false
		}
	default:
		return false, false
	}
	sc.leave()
	return false, true
}

// key reads a key and its colon, and notes duplicates and top-level types.
func (sc *scanner) key() bool {
	if sc.peek() != '"' {
		return false
	}
	lit, ok := sc.str()
	if !ok {
		return false
	}
	sc.space()
	if sc.peek() != ':' {
		return false
	}
	sc.i++
	sc.keys++
	key := unquote(lit)
	if sc.keys <= MaxKeys {
		if sc.again(scopedKey{sc.objects[len(sc.objects)-1], key}) && sc.twice == nil {
			twice := key
			sc.twice = &twice
		}
	}
	if len(sc.open) == 1 && key == "type" {
		return sc.noteType()
	}
	return true
}

// again reports whether a key was seen before, and notes it.
func (sc *scanner) again(k scopedKey) bool {
	n := min(sc.keys-1, len(sc.few))
	if slices.Contains(sc.few[:n], k) {
		return true
	}
	if n < len(sc.few) {
		sc.few[n] = k
		return false
	}
	if _, twice := sc.seen[k]; twice {
		return true
	}
	if sc.seen == nil {
		sc.seen = map[scopedKey]struct{}{}
	}
	sc.seen[k] = struct{}{}
	return false
}

// noteType looks ahead at the value of a top-level "type" without reading it.
func (sc *scanner) noteType() bool {
	sc.typeKeys++
	sc.space()
	if sc.peek() != '"' {
		return true
	}
	at := sc.i
	lit, ok := sc.str()
	if !ok {
		return false
	}
	sc.types = append(sc.types, unquote(lit))
	sc.i = at
	return true
}

func (sc *scanner) space() {
	for sc.i < len(sc.s) && isSpace(sc.s[sc.i]) {
		sc.i++
	}
}

// peek returns the next byte, 0 at the end; a NUL byte is never valid outside a
// string, so the two need not be told apart.
func (sc *scanner) peek() byte {
	if sc.i < len(sc.s) {
		return sc.s[sc.i]
	}
	return 0
}

// str reads a string literal and returns it with its quotes.
func (sc *scanner) str() (string, bool) {
	start := sc.i
	sc.i++
	for sc.i < len(sc.s) {
		c := sc.s[sc.i]
		switch {
		case c == '"':
			sc.i++
			return sc.s[start:sc.i], true
		case c == '\\':
			if !sc.escape() {
				return "", false
			}
		case c < 0x20:
			return "", false
		case c < utf8.RuneSelf:
			sc.i++
		default:
			r, n := utf8.DecodeRuneInString(sc.s[sc.i:])
			if r == utf8.RuneError && n == 1 {
				sc.badUTF8 = true
			}
			sc.i += n
		}
	}
	return "", false
}

// escape reads one escape sequence, or a surrogate pair of two.
func (sc *scanner) escape() bool {
	if sc.i+1 >= len(sc.s) {
		return false
	}
	switch sc.s[sc.i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		sc.i += 2
		return true
	case 'u':
		r, ok := hex4(sc.s[sc.i:])
		if !ok {
			return false
		}
		sc.i += 6
		if r < surrogateMin || r > surrogateMax {
			return true
		}
		if low, ok := hex4(sc.s[sc.i:]); ok && r < lowSurrogateMin && low >= lowSurrogateMin && low <= surrogateMax {
			sc.i += 6
			return true
		}
		sc.surrogate = true
		return true
	}
	return false
}

func (sc *scanner) number() bool {
	if sc.peek() == '-' {
		sc.i++
	}
	switch c := sc.peek(); {
	case c == '0':
		sc.i++
	case c >= '1' && c <= '9':
		sc.digits()
	default:
		return false
	}
	if sc.peek() == '.' {
		sc.i++
		if !sc.digits() {
			return false
		}
	}
	if c := sc.peek(); c == 'e' || c == 'E' {
		sc.i++
		if c := sc.peek(); c == '+' || c == '-' {
			sc.i++
		}
		return sc.digits()
	}
	return true
}

func (sc *scanner) digits() bool {
	start := sc.i
	for sc.i < len(sc.s) && sc.s[sc.i] >= '0' && sc.s[sc.i] <= '9' {
		sc.i++
	}
	return sc.i > start
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
