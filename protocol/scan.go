package protocol

import (
	"slices"
	"unicode/utf8"
	"waggle/internal/json/jsontext"
)

// facts is what one pass over a JSON text learns without building anything. It remembers
// at most MaxKeys keys, so that a hostile text costs time in proportion to its length and
// no more.
type facts struct {
	depth     int      // deepest nesting; the top-level value has depth 1
	keys      int      // object keys, all levels together
	badUTF8   bool     // a string holds bytes that are not UTF-8
	surrogate bool     // a string holds \ud800..\udfff without its other half
	twice     *string  // the first key that an object holds twice
	types     []string // string values of top-level "type" keys, in order
}

// tooBig reports whether the text is beyond what Decode reads.
func (f *facts) tooBig() bool { return f.depth > MaxDepth || f.keys > MaxKeys }

type scopedKey struct {
	object int
	key    string
}

// factFinder collects the facts of a text while it is scanned.
type factFinder struct {
	facts
	jsontext.Scanner[string]
	few  [16]scopedKey          // the first keys
	seen map[scopedKey]struct{} // the others
}

// scan reports whether s is one JSON value, with white space around it, and what a first
// look finds in it.
func scan(s string) (*facts, bool) {
	f := factFinder{Scanner: jsontext.Scanner[string]{Text: s}}
	f.OnKey = f.noteKey
	ok := f.Document()
	found := f.facts // what the scanner itself holds is not kept
	found.depth, found.surrogate = f.Depth, f.Surrogate
	found.badUTF8 = !utf8.ValidString(s) // outside strings nothing but ASCII is valid
	return &found, ok
}

// noteKey notes duplicates and top-level types.
func (f *factFinder) noteKey(k jsontext.Key) {
	f.keys++
	key := jsontext.Unquote(f.Text[k.Start:k.End])
	if f.keys <= MaxKeys {
		if f.again(scopedKey{k.Object, key}) && f.twice == nil {
			f.twice = &key
		}
	}
	if k.Depth == 1 && key == "type" {
		f.noteType(k.Value)
	}
}

// again reports whether a key was seen before, and notes it.
func (f *factFinder) again(k scopedKey) bool {
	n := min(f.keys-1, len(f.few))
	if slices.Contains(f.few[:n], k) {
		return true
	}
	if n < len(f.few) {
		f.few[n] = k
		return false
	}
	if _, twice := f.seen[k]; twice {
		return true
	}
	if f.seen == nil {
		f.seen = map[scopedKey]struct{}{}
	}
	f.seen[k] = struct{}{}
	return false
}

// noteType looks ahead at the value of a top-level "type".
func (f *factFinder) noteType(value int) {
	if value == len(f.Text) || f.Text[value] != '"' {
		return
	}
	if end, ok := f.String(value); ok {
		f.types = append(f.types, jsontext.Unquote(f.Text[value:end]))
	}
}
