package protocol

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// fieldOf is one row of a kind's table: all that is known of one field of its payload. The
// rows drive decoding, encoding in every dialect, Validate, the schemas and the documents.
// Their order is the order of the wire.
type fieldOf[P any] struct {
	name string // on the wire; a.b is key b of the object a
	// in lists the spellings, in the order in which they are read; see parse.
	in string
	as *textForm // of a text, which the payload's JSON has under the name; nil: the codec is given
	codec[P]
	turn    int                             // when it is read: lower turns first
	need    bool                            // an empty value is refused
	without string                          // why a frame without it cannot be used; "": it can
	bare    bool                            // a value with a team is refused
	choices []string                        // others are refused
	check   func(c *checks, p *P)           // what else is refused
	when    func(p *P, d Dialect) bool      // whether it is written at all
	catalog func(o *object, k string, p *P) // writes it under a path that is not the wire's, where that differs
	arm     string                          // the subtype that it goes with
	decides bool                            // it is part of what is decided
	hidden  bool                            // the schemas leave it out: it is read, not written
	doc     string                          // one sentence
	items   []Field                         // the fields of a list's elements

	spelled []spelling
	also    []string // accepted, and of no dialect
	paths   []string // what is looked for; the other casing of each is looked for too
}

// spelling is how a dialect writes a field.
type spelling struct {
	dialect Dialect
	path    string
	in, key string // path, taken apart
	place   int    // among the keys of the dialect
	has     bool   // the dialect always has it
	always  bool   // it is written even when it is empty
	never   bool   // it is read and not written
}

// parse takes fieldOf.in apart. Its words are
//
//	DIALECT:PATH         the dialect may have it; it is written unless it is empty
//	DIALECT:PATH!        the dialect always has it; it is written always
//	DIALECT:PATH!?       the dialect always has it; it is written unless it is empty
//	DIALECT:PATH+        the dialect may have it; it is written always
//	DIALECT:PATH-        the dialect may have it; it is never written
//	DIALECT:N:PATH       the same, as the Nth key of the dialect
//	also:PATH,PATH       read, and of no dialect
func (r *fieldOf[P]) parse(place int) {
	if r.as != nil {
		r.codec = textCodec(r.as, textAt[P](r.name), r.read)
	}
	r.spelled, r.also, r.paths = nil, nil, nil
	for word := range strings.FieldsSeq(r.in) {
		dialect, path, _ := strings.Cut(word, ":")
		if dialect == "also" {
			for other := range strings.SplitSeq(path, ",") {
				r.also = append(r.also, other)
				r.look(other)
			}
			continue
		}
		s := spelling{dialect: Dialect(dialect), place: place}
		if at, rest, ok := strings.Cut(path, ":"); ok {
			s.place, _ = strconv.Atoi(at)
			path = rest
		}
		s.path = strings.TrimRight(path, "!?+-")
		mark := path[len(s.path):]
		s.has, s.always, s.never = strings.HasPrefix(mark, "!"), mark == "!" || mark == "+", mark == "-"
		s.in, s.key = splitPath(s.path)
		r.spelled = append(r.spelled, s)
		r.look(s.path)
	}
}

// textAt is where a payload has the text that its JSON calls name.
func textAt[P any](name string) func(*P) *string {
	typ, path := reflect.TypeFor[P](), []int(nil)
	for key := range strings.SplitSeq(name, ".") {
		for f := range typ.Fields() {
			if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag == key {
				typ, path = f.Type, append(path, f.Index...)
				break
			}
		}
	}
	if typ.Kind() != reflect.String {
		panic("protocol: " + reflect.TypeFor[P]().Name() + " has no text " + name)
	}
	return func(p *P) *string { return reflect.ValueOf(p).Elem().FieldByIndex(path).Addr().Interface().(*string) }
}

// look adds a path to those that are looked for.
func (r *fieldOf[P]) look(path string) {
	if !slices.ContainsFunc(r.paths, func(p string) bool { return p == path || otherCasing(p) == path }) {
		r.paths = append(r.paths, path)
	}
}

// spell is how a dialect spells the field; nil when it has no such field.
func (r *fieldOf[P]) spell(d Dialect) *spelling {
	for i := range r.spelled {
		if r.spelled[i].dialect == d {
			return &r.spelled[i]
		}
	}
	return nil
}

// path is the field's path in a dialect that has it.
func (r *fieldOf[P]) path(d Dialect) string { return r.spell(d).path }

func splitPath(path string) (container, key string) {
	if dot := strings.IndexByte(path, '.'); dot >= 0 {
		return path[:dot], path[dot+1:]
	}
	return "", path
}

// readFields reads the fields of a frame in their turns.
func readFields[P any](f *frame, p *P, rows []*fieldOf[P]) {
	for _, r := range rows {
		if r.read != nil {
			r.read(f, p, r.paths)
		}
	}
	for _, r := range rows {
		if r.without != "" && r.empty(p) {
			f.fail("%s", r.without)
		}
	}
}

// inTurn is the order of reading.
func inTurn[P any](rows []*fieldOf[P]) []*fieldOf[P] {
	return slices.SortedStableFunc(slices.Values(rows), func(a, b *fieldOf[P]) int { return cmp.Compare(a.turn, b.turn) })
}

// placed is a field in its place among the keys of a dialect.
type placed[P any] struct {
	*fieldOf[P]
	at *spelling
}

// inPlace is the order of writing in a dialect.
func inPlace[P any](rows []*fieldOf[P], d Dialect) []placed[P] {
	var list []placed[P]
	for _, r := range rows {
		if at := r.spell(d); at != nil && !at.never {
			list = append(list, placed[P]{r, at})
		}
	}
	slices.SortStableFunc(list, func(a, b placed[P]) int { return cmp.Compare(a.at.place, b.at.place) })
	return list
}

// writeFields writes the fields of p that there are.
func writeFields[P any](o *object, p *P, rows []placed[P], d Dialect) {
	for _, r := range rows {
		if !r.at.always && r.empty(p) || r.when != nil && !r.when(p, d) {
			continue
		}
		o.enter(r.at.in)
		if wire := r.spell(DialectWire); r.catalog != nil && (wire == nil || wire.path != r.at.path) {
			r.catalog(o, r.at.key, p)
		} else {
			r.write(o, r.at.key, p)
		}
	}
	o.enter("")
}

// checkFields notes what is missing or malformed in p for a dialect. What only the wire has, such
// as the sender, another dialect does not need, unless it is decided on.
func checkFields[P any](c *checks, p *P, rows []*fieldOf[P], d Dialect) {
	for _, r := range rows {
		if !r.decides && r.spell(d) == nil && r.spell(DialectWire) != nil {
			continue
		}
		if r.test != nil {
			r.test(c, r, p)
		}
		if r.check != nil {
			r.check(c, p)
		}
	}
}

// checking is the order of Validate: the id that pairs an answer first, times last.
func checking[P any](rows []*fieldOf[P]) []*fieldOf[P] {
	rank := func(r *fieldOf[P]) int {
		switch r.typ {
		case FieldID:
			return -1
		case FieldTime, FieldMillis:
			return 1
		}
		return 0
	}
	return slices.SortedStableFunc(slices.Values(rows), func(a, b *fieldOf[P]) int { return cmp.Compare(rank(a), rank(b)) })
}
