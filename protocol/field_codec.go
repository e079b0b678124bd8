package protocol

import "encoding/json"

// codec is how the value of a field is read into a payload, written from it, and tested.
type codec[P any] struct {
	typ   FieldType
	read  func(f *frame, p *P, paths []string) // nil: another field reads it
	write func(o *object, key string, p *P)
	empty func(p *P) bool
	test  func(c *checks, r *fieldOf[P], p *P)
	at    func(p *P) *string // of text: where it is
}

// text is a string.
func text[P any](at func(*P) *string) codec[P] {
	return codec[P]{
		typ:   FieldText,
		at:    at,
		read:  func(f *frame, p *P, paths []string) { *at(p) = f.text(paths...) },
		write: func(o *object, key string, p *P) { o.str(key, *at(p)) },
		empty: func(p *P) bool { return *at(p) == "" },
		test:  func(c *checks, r *fieldOf[P], p *P) { testText(c, r, *at(p)) },
	}
}

func testText[P any](c *checks, r *fieldOf[P], v string) {
	if r.need {
		c.need(r.name, v)
	}
	if r.bare {
		c.bare(r.name, v)
	}
	if s := r.spell(DialectWire); r.choices != nil && (v != "" || s != nil && s.has) {
		c.oneOf(r.name, v, r.choices...)
	}
}

// textBy is text that is read in a way of its own.
func textBy[P any](at func(*P) *string, read func(f *frame, paths ...string) string) codec[P] {
	return textWith(at, func(f *frame, p *P, paths []string) { *at(p) = read(f, paths...) })
}

// textWith is text that is read together with other fields.
func textWith[P any](at func(*P) *string, read func(f *frame, p *P, paths []string)) codec[P] {
	c := text(at)
	c.read = read
	return c
}

// number is text that some writers fill with a number.
func number[P any](at func(*P) *string) codec[P] { return textBy(at, (*frame).textOrNumber) }

// identity is text that names something exactly.
func identity[P any](at func(*P) *string) codec[P] { return textBy(at, (*frame).id) }

// sender is the member that the payload is from.
func sender[P any](at func(*P) *string) codec[P] { return textBy(at, (*frame).from) }

// modeText is a permission mode.
func modeText[P any](at func(*P) *string) codec[P] { return textBy(at, (*frame).mode) }

// pairID is the id that pairs a request with its answer.
func pairID[P any](at func(*P) *string) codec[P] {
	return exactID(textBy(at, (*frame).requestID), at)
}

// exactID makes the text of c an id that is compared exactly.
func exactID[P any](c codec[P], at func(*P) *string) codec[P] {
	c.typ = FieldID
	c.test = func(c *checks, r *fieldOf[P], p *P) { c.id(r.name, *at(p)) }
	return c
}

// clock is when the payload was made: the envelope's time where it does not say.
func clock[P any](at func(*P) *string) codec[P] {
	c := textBy(at, (*frame).timestamp)
	c.typ = FieldTime
	c.test = func(c *checks, r *fieldOf[P], p *P) { c.time(r.name, *at(p)) }
	return c
}

// spokenTime is a time that the payload need not say and nothing depends on.
func spokenTime[P any](at func(*P) *string) codec[P] {
	c := text(at)
	c.typ, c.test = FieldTime, nil
	return c
}

// flag is a boolean, read by the function.
func flag[P any](at func(*P) *bool, read func(f *frame, paths ...string) bool) codec[P] {
	c := codec[P]{
		typ:   FieldFlag,
		write: func(o *object, key string, p *P) { o.bool(key, *at(p)) },
		empty: func(p *P) bool { return !*at(p) },
	}
	if read != nil {
		c.read = func(f *frame, p *P, paths []string) { *at(p) = read(f, paths...) }
	}
	return c
}

// always is a boolean that the kind says by its type.
func always[P any](v bool) codec[P] {
	return codec[P]{
		typ:   FieldFlag,
		write: func(o *object, key string, _ *P) { o.bool(key, v) },
		empty: func(*P) bool { return false },
	}
}

// texts is a list of strings that another field reads.
func texts[P any](of func(*P) []string) codec[P] {
	return codec[P]{
		typ:   FieldTexts,
		write: func(o *object, key string, p *P) { o.strs(key, of(p)) },
		empty: func(p *P) bool { return len(of(p)) == 0 },
	}
}

// made is text that is made of the payload, and that another field reads.
func made[P any](of func(*P) string) codec[P] {
	return codec[P]{
		typ:   FieldText,
		write: func(o *object, key string, p *P) { o.str(key, of(p)) },
		empty: func(p *P) bool { return of(p) == "" },
	}
}

// rawValue is JSON that is kept as it stands.
func rawValue[P any](at func(*P) *json.RawMessage) codec[P] {
	return codec[P]{
		typ: FieldJSON,
		read: func(f *frame, p *P, paths []string) {
			if raw, ok := f.find(paths...); ok {
				*at(p) = json.RawMessage(raw)
			}
		},
		write: func(o *object, key string, p *P) { o.raw(key, *at(p)) },
		empty: func(p *P) bool { return *at(p) == nil },
	}
}

// rawValues is a list of JSON values that are kept as they stand.
func rawValues[P any](at func(*P) *[]json.RawMessage) codec[P] {
	return codec[P]{
		typ:   FieldList,
		read:  func(f *frame, p *P, paths []string) { *at(p) = f.list(paths...) },
		write: func(o *object, key string, p *P) { o.raws(key, *at(p)) },
		empty: func(p *P) bool { return len(*at(p)) == 0 },
		test:  func(c *checks, r *fieldOf[P], p *P) { c.values(r.name, *at(p)) },
	}
}

// rawObject is an object that is kept as it stands; read is nil where another field reads it.
func rawObject[P any](of func(*P) json.RawMessage, read func(f *frame, p *P, paths []string)) codec[P] {
	return codec[P]{
		typ:   FieldObject,
		read:  read,
		write: func(o *object, key string, p *P) { o.raw(key, of(p)) },
		empty: func(*P) bool { return false },
		test:  func(c *checks, r *fieldOf[P], p *P) { c.object(r.name, of(p)) },
	}
}

// unread is c where another field, or the kind's own function, reads the value.
func unread[P any](c codec[P]) codec[P] {
	c.read = nil
	return c
}
