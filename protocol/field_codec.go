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

// textForm is how a text is read and tested, whatever payload it is in.
type textForm struct {
	typ  FieldType
	read func(f *frame, paths ...string) string // nil: another field, or the kind's own function, reads it
	test func(c *checks, field, v string)       // nil: as the row says
}

// The forms of text.
var (
	text       = &textForm{typ: FieldText, read: (*frame).text}
	elsewhere  = &textForm{typ: FieldText}                                // another field reads it
	number     = &textForm{typ: FieldText, read: (*frame).textOrNumber}   // some writers fill it with a number
	identity   = &textForm{typ: FieldText, read: (*frame).id}             // it names something exactly
	sender     = &textForm{typ: FieldText, read: (*frame).from}           // the member that the payload is from
	memberID   = &textForm{typ: FieldText, read: (*frame).member}         // the member that asks
	bareMember = &textForm{typ: FieldText, read: (*frame).bareMember}     // the same without its team
	modeText   = &textForm{typ: FieldText, read: (*frame).mode}           // a permission mode
	spokenTime = &textForm{typ: FieldTime, read: (*frame).text}           // a time that need not be said and that nothing depends on
	clock      = &textForm{FieldTime, (*frame).timestamp, (*checks).time} // the envelope's time where the payload has none
	pairID     = &textForm{FieldID, (*frame).requestID, (*checks).id}     // pairs a request with its answer
	taskID     = &textForm{FieldID, (*frame).textOrNumber, (*checks).id}  // a task's id that is compared exactly
	joinID     = &textForm{FieldID, (*frame).text, (*checks).id}          // not needed to read the frame: nothing answers it
)

// textCodec is a text of a form. A read that is given goes before the form's.
func textCodec[P any](form *textForm, at func(*P) *string, read func(f *frame, p *P, paths []string)) codec[P] {
	if read == nil && form.read != nil {
		read = func(f *frame, p *P, paths []string) { *at(p) = form.read(f, paths...) }
	}
	return codec[P]{
		typ:   form.typ,
		at:    at,
		read:  read,
		write: func(o *object, key string, p *P) { o.str(key, *at(p)) },
		empty: func(p *P) bool { return *at(p) == "" },
		test: func(c *checks, r *fieldOf[P], p *P) {
			if form.test != nil {
				form.test(c, r.name, *at(p))
			} else {
				testText(c, r, *at(p))
			}
		},
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

// rawValues is a list of JSON values that are kept as they stand; read is nil where another field reads it.
func rawValues[P any](of func(*P) []json.RawMessage, read func(f *frame, p *P, paths []string)) codec[P] {
	return codec[P]{
		typ:   FieldList,
		read:  read,
		write: func(o *object, key string, p *P) { o.raws(key, of(p)) },
		empty: func(p *P) bool { return len(of(p)) == 0 },
		test:  func(c *checks, r *fieldOf[P], p *P) { c.values(r.name, of(p)) },
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
