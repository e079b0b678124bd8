package protocol

import (
	"cmp"
	"slices"
)

// kindTable is the table of one kind, whatever the Go type of its payload.
type kindTable interface {
	decode(f *frame) Payload
	problems(c *checks, p Payload, d Dialect)
	encode(o *object, p Payload, d Dialect) (why string)
	withRouting(p Payload, r Routing) Payload
	spellings() []shape
	writes(d Dialect) bool
	requestID(p Payload) (RequestID, bool)
	idPath(d Dialect) string
	containers() []string
	view() []Field
}

// table is the fields of one kind, and what no single field can say.
type table[P Payload] struct {
	rows []*fieldOf[P]
	// finish compares the fields that were read with each other and returns the payload.
	finish func(f *frame, p *P) Payload
	// instead reads a frame where the answer may be of another kind.
	instead func(f *frame) Payload
	// refuse says why a dialect has no form for this payload.
	refuse func(p *P, d Dialect) string
	// types are the values of "type" of the dialects that have another one.
	types map[Dialect]string
	// outside: seed 002 has the type and the id in the envelope, and prose as text.
	outside bool

	turns   []*fieldOf[P]
	checked []*fieldOf[P]
	written map[Dialect][]placed[P]
	shapes  []shape
}

// build takes the rows apart, once.
func (t table[P]) build() *table[P] {
	if _, ok := any(new(P)).(routed); ok {
		own := t.rows
		t.rows = append(own[:len(own):len(own)], routingFields[P]()...)
		for _, r := range t.rows[len(own):] { // a schema has one casing of a key
			r.hidden = slices.ContainsFunc(own, func(other *fieldOf[P]) bool { return otherCasing(other.name) == r.name })
		}
	}
	parsed(t.rows)
	t.turns, t.checked = inTurn(t.rows), checking(t.rows)
	t.written = map[Dialect][]placed[P]{}
	for _, d := range Dialects() {
		t.written[d] = inPlace(t.rows, d)
	}
	t.shapes = shapesOf(t.rows)
	return &t
}

func (t *table[P]) decode(f *frame) Payload {
	if t.instead != nil {
		return t.instead(f)
	}
	var p P
	readFields(f, &p, t.turns)
	if t.finish != nil {
		return t.finish(f, &p)
	}
	return p
}

func (t *table[P]) problems(c *checks, p Payload, d Dialect) {
	v := p.(P)
	checkFields(c, &v, t.checked, d)
}

func (t *table[P]) encode(o *object, p Payload, d Dialect) (why string) {
	v := p.(P)
	if t.outside && d == DialectAPI {
		return "seed 002 has its type and its id in the envelope, and prose as text: give the envelope too"
	}
	if len(t.written[d]) == 0 {
		return documents[d] + " has no form for this kind"
	}
	if t.refuse != nil {
		if why := t.refuse(&v, d); why != "" {
			return why
		}
	}
	o.str(keyType, cmp.Or(t.types[d], string(p.Kind())))
	writeFields(o, &v, t.written[d], d)
	return ""
}

// writes reports whether a dialect has a form for the kind.
func (t *table[P]) writes(d Dialect) bool {
	var p P
	return len(t.written[formOf(p.Kind(), d)]) > 0 || t.outside && d == DialectAPI
}

// requestID is the value of the field that is compared exactly.
func (t *table[P]) requestID(p Payload) (RequestID, bool) {
	v := p.(P)
	for _, r := range t.rows {
		if r.typ == FieldID {
			return RequestID(*r.at(&v)), true
		}
	}
	return "", false
}

// idPath is where a dialect that writes the kind has the id that pairs it.
func (t *table[P]) idPath(d Dialect) string {
	var p P
	for _, r := range t.written[formOf(p.Kind(), d)] {
		if r.typ == FieldID {
			return r.at.path
		}
	}
	return ""
}

func (t *table[P]) withRouting(p Payload, r Routing) Payload {
	v := p.(P)
	if to, ok := any(&v).(routed); ok {
		*to.routingKeys() = r
	}
	return v
}

func (t *table[P]) spellings() []shape { return t.shapes }

// containers lists the keys whose objects are part of a shape.
func (t *table[P]) containers() []string {
	var list []string
	for _, r := range t.rows {
		for _, path := range r.paths {
			if in, _ := splitPath(path); in != "" {
				list = append(list, in)
			}
		}
	}
	return list
}
