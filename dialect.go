package waggle

import (
	"maps"
	"slices"
)

// shape is how one dialect spells one kind.
type shape struct {
	dialect  Dialect
	required []string // dotted paths of keys
	allowed  map[string]bool
}

// dialects is the order in which dialects are tried. A dialect that spells a kind exactly
// as the wire does has no spellings of its own.
var dialects = []Dialect{DialectWire, DialectProtocol, DialectCatalog, DialectAPI, DialectEarly, DialectTool}

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

// dialectOf tells the dialect whose spellings were used: the first whose line
// fits, or, when keys are missing, the first that knows every key that is there.
// Keys that no dialect knows were not read and do not count.
func dialectOf(kind Kind, read map[string]bool) Dialect {
	knows := func(s shape) bool {
		for path := range maps.Keys(read) {
			if !s.allowed[path] {
				return false
			}
		}
		return true
	}
	complete := func(s shape) bool {
		return !slices.ContainsFunc(s.required, func(path string) bool { return !read[path] })
	}
	var shapes []shape
	if t := tables[kind]; t != nil {
		shapes = t.spellings()
	}
	for _, s := range shapes {
		if knows(s) && complete(s) {
			return s.dialect
		}
	}
	for _, s := range shapes {
		if knows(s) {
			return s.dialect
		}
	}
	return DialectMixed
}
