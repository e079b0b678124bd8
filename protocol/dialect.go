package protocol

import (
	"cmp"
	"slices"
)

// shape is how one dialect spells one kind.
type shape struct {
	dialect  Dialect
	required []string // dotted paths of keys
	allowed  map[string]bool
}

// dialects is the order in which dialects are tried. A dialect that spells a kind exactly
// as the wire does has no spellings of its own (asWire).
var dialects = []Dialect{DialectWire, DialectProtocol, DialectCatalog, DialectAPI, DialectEarly, DialectTool}

// Dialects lists the dialects that Encode writes, the wire's first.
func Dialects() []Dialect { return append(slices.Clone(dialects), DialectLegacy) }

// For is the dialect in which a payload of a kind is written to a reader of d: d, or DialectWire
// where the document of d has no form for the kind.
func (d Dialect) For(kind Kind) Dialect {
	if t := tables[kind]; t != nil && t.writes(d) {
		return d
	}
	return DialectWire
}

// Carries reports whether a payload of a kind can say a field, by its name on the wire, to a reader
// of d.
func (d Dialect) Carries(kind Kind, field string) bool {
	d = formOf(kind, d.For(kind))
	return slices.ContainsFunc(Fields(kind), func(f Field) bool {
		return f.Name == field && slices.ContainsFunc(f.Spellings, func(s Spelling) bool { return s.Dialect == d && s.Written })
	})
}

// formOf is the dialect whose spellings d writes for a kind.
func formOf(kind Kind, d Dialect) Dialect {
	if slices.Contains(asWire[d], kind) {
		return DialectWire
	}
	return d
}

// shapesOf collects the spellings of each dialect.
func shapesOf[P any](rows []*fieldOf[P]) []shape {
	var list []shape
	for _, d := range dialects {
		s := shape{dialect: d, allowed: make(map[string]bool)}
		for _, r := range rows {
			for _, at := range r.spelled {
				if at.dialect != d {
					continue
				}
				s.allowed[at.path] = true
				if at.has {
					s.required = append(s.required, at.path)
				}
			}
		}
		if len(s.allowed) > 0 {
			list = append(list, s)
		}
	}
	return list
}

func (s shape) knows(read map[string]bool) bool { return s.common(read) == len(read) }

// common counts the paths that were read and that the dialect has.
func (s shape) common(read map[string]bool) (n int) {
	for path := range read {
		if s.allowed[path] {
			n++
		}
	}
	return n
}

func (s shape) complete(read map[string]bool) bool {
	return !slices.ContainsFunc(s.required, func(path string) bool { return !read[path] })
}

// dialectsOf lists the dialects that have every key that was read, those first all of whose keys
// are there. Keys that no dialect knows were not read and do not count.
func dialectsOf(kind Kind, read map[string]bool) (list []Dialect) {
	for _, whole := range []bool{true, false} {
		for _, s := range tables[kind].spellings() {
			if s.knows(read) && s.complete(read) == whole {
				list = append(list, s.dialect)
			}
		}
	}
	return list
}

// nearest is the dialect that a sender of mixed spellings most surely reads: one in which the answer
// has the request's id under the key that the sender gave it, and of several the one that has
// the most of the keys that were read.
func nearest(kind Kind, read map[string]bool) Dialect {
	rank := func(d Dialect) (n int) {
		if answer, ok := answers[kind]; ok && tables[answer].writes(d) && read[tables[answer].idPath(d)] {
			n = len(read)
		}
		for _, s := range tables[kind].spellings() {
			if s.dialect == d {
				n += s.common(read)
			}
		}
		return n
	}
	return slices.MaxFunc(dialects, func(a, b Dialect) int { return cmp.Compare(rank(a), rank(b)) })
}

// Speaks is the dialect in which the sender of d is answered and written to from now on; before is
// what that was until now. A payload that several documents spell alike changes nothing.
func (d Decoded) Speaks(before Dialect) Dialect {
	switch {
	case len(d.Spellings) == 0 || slices.Contains(d.Spellings, before):
		return before
	case d.Spellings[0] == DialectWire && slices.Contains(asWire[before], d.Kind):
		return before
	}
	return d.Spellings[0]
}
