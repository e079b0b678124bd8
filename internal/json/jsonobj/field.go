package jsonobj

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"time"
)

// Field ties a key of an object to a field of T, so that a struct can be read
// from an object and only what was changed written back.
type Field[T any] struct {
	Key string
	Alt string // a second spelling: read when Key is absent, and kept when written
	// Read stores raw, which is never null, in v.
	Read func(raw json.RawMessage, v *T) error
	// Same reports whether a and b need the same JSON.
	Same func(a, b *T) bool
	// Append appends v's JSON; old is what the object holds, nil when nothing.
	Append func(dst []byte, old json.RawMessage, v *T) []byte
	Empty  func(v *T) bool
	Rule   Rule
}

// Rule says what becomes of a key whose field is empty.
type Rule int

const (
	Omit  Rule = iota // not written; removed when it was there
	Keep              // not written; stays, empty, when it was there
	Write             // always written
)

// Problem is a value that a field cannot hold; the object keeps it.
type Problem struct{ Key, Why string }

// spelling returns the key under which o has f's value, else f.Key.
func (f *Field[T]) spelling(o *Object) string {
	for _, key := range [...]string{f.Key, f.Alt} {
		if raw, ok := o.Get(key); ok && key != "" && TypeOf(raw) != "null" {
			return key
		}
	}
	return f.Key
}

// Read fills v from o. A value of the wrong type leaves its field as it was and
// is reported; null counts as absent.
func Read[T any](o *Object, fields []Field[T], v *T) []Problem {
	var problems []Problem
	for i := range fields {
		f := &fields[i]
		key := f.spelling(o)
		raw, ok := o.Get(key)
		if !ok || TypeOf(raw) == "null" {
			continue
		}
		if err := f.Read(raw, v); err != nil {
			problems = append(problems, Problem{key, err.Error()})
		}
	}
	return problems
}

// Update writes to o the fields in which v differs from old. With a nil old it
// writes all of them: a new object in the order of fields.
func Update[T any](o *Object, fields []Field[T], old, v *T) {
	var order []string
	for i := range fields {
		f := &fields[i]
		if old != nil && f.Same(old, v) {
			continue
		}
		key := f.spelling(o)
		raw, had := o.Get(key)
		if f.Empty(v) && (f.Rule == Omit || f.Rule == Keep && !had) {
			if had {
				o.Delete(key)
			}
			continue
		}
		if order == nil {
			order = Order(fields)
		}
		o.SetOrdered(key, f.Append(nil, raw, v), order)
	}
}

// Order returns the fields' keys in order, second spellings after their first.
func Order[T any](fields []Field[T]) []string {
	var order []string
	for i := range fields {
		order = append(order, fields[i].Key)
		if fields[i].Alt != "" {
			order = append(order, fields[i].Alt)
		}
	}
	return order
}

func wrong(want string, raw json.RawMessage) error {
	return errors.New("is " + TypeOf(raw) + ", want " + want)
}

// scalar is a field of one type of JSON; the zero value is empty.
func scalar[T any, V comparable](key string, rule Rule, at func(*T) *V, want string, read func(json.RawMessage) V, write func([]byte, V) []byte) Field[T] {
	return Field[T]{
		Key: key, Rule: rule,
		Read: func(raw json.RawMessage, v *T) error {
			if TypeOf(raw) != want {
				return wrong(want, raw)
			}
			*at(v) = read(raw)
			return nil
		},
		Same:   func(a, b *T) bool { return *at(a) == *at(b) },
		Append: func(dst []byte, _ json.RawMessage, v *T) []byte { return write(dst, *at(v)) },
		Empty:  func(v *T) bool { return *at(v) == *new(V) },
	}
}

// Text is a string field.
func Text[T any, S ~string](key string, rule Rule, at func(*T) *S) Field[T] {
	return scalar(key, rule, at, "string", func(raw json.RawMessage) S {
		s, _ := String(raw)
		return S(s)
	}, func(dst []byte, s S) []byte { return AppendString(dst, string(s)) })
}

// Bool is a boolean field; false is empty.
func Bool[T any](key string, rule Rule, at func(*T) *bool) Field[T] {
	return scalar(key, rule, at, "boolean", func(raw json.RawMessage) bool { return raw[0] == 't' }, strconv.AppendBool)
}

// Flag is a boolean field that may be absent: nil.
func Flag[T any](key string, at func(*T) **bool) Field[T] {
	return Field[T]{
		Key: key,
		Read: func(raw json.RawMessage, v *T) error {
			if TypeOf(raw) != "boolean" {
				return wrong("boolean", raw)
			}
			*at(v) = new(raw[0] == 't')
			return nil
		},
		Same: func(a, b *T) bool {
			p, q := *at(a), *at(b)
			return p == q || p != nil && q != nil && *p == *q
		},
		Append: func(dst []byte, _ json.RawMessage, v *T) []byte { return strconv.AppendBool(dst, **at(v)) },
		Empty:  func(v *T) bool { return *at(v) == nil },
	}
}

// Texts is a field that holds an array of strings.
func Texts[T any, S ~string](key string, rule Rule, at func(*T) *[]S) Field[T] {
	return Field[T]{
		Key: key, Rule: rule,
		Read: func(raw json.RawMessage, v *T) error {
			elements, ok := Elements(raw)
			if !ok {
				return wrong("array", raw)
			}
			list := make([]S, 0, len(elements))
			for _, e := range elements {
				s, ok := String(e)
				if !ok {
					return errors.New("holds " + TypeOf(e) + ", want strings")
				}
				list = append(list, S(s))
			}
			*at(v) = list
			return nil
		},
		Same: func(a, b *T) bool { return slices.Equal(*at(a), *at(b)) },
		Append: func(dst []byte, _ json.RawMessage, v *T) []byte {
			elements := make([][]byte, len(*at(v)))
			for i, s := range *at(v) {
				elements[i] = AppendString(nil, string(s))
			}
			return AppendArray(dst, elements, 0)
		},
		Empty: func(v *T) bool { return len(*at(v)) == 0 },
	}
}

// Form is how a time stands in a file.
type Form int

const (
	Millis Form = iota // a number, milliseconds since 1970
	ISO                // a string, ISO 8601 in UTC with milliseconds
)

// Time is a field that holds a time in either form. A changed time keeps the
// form it had; a new one has the given form. The zero time is empty.
func Time[T any](key, alt string, form Form, at func(*T) *time.Time) Field[T] {
	return TimeOf(key, alt, func(*T) Form { return form }, at)
}

// TimeOf is Time for a field whose form, when it is new, depends on the value.
func TimeOf[T any](key, alt string, form func(*T) Form, at func(*T) *time.Time) Field[T] {
	return Field[T]{
		Key: key, Alt: alt,
		Read: func(raw json.RawMessage, v *T) (err error) {
			*at(v), err = ParseTime(raw)
			return err
		},
		Same: func(a, b *T) bool { return at(a).Equal(*at(b)) },
		Append: func(dst []byte, old json.RawMessage, v *T) []byte {
			f := form(v)
			switch TypeOf(old) {
			case "string":
				f = ISO
			case "number":
				f = Millis
			}
			if f == ISO {
				return AppendString(dst, at(v).UTC().Format("2006-01-02T15:04:05.000Z"))
			}
			return strconv.AppendInt(dst, at(v).UnixMilli(), 10)
		},
		Empty: func(v *T) bool { return at(v).IsZero() },
	}
}

// maxMillis is the largest time of JavaScript's Date.
const maxMillis = 8.64e15

// ParseTime reads a time in either form, in UTC.
func ParseTime(raw json.RawMessage) (time.Time, error) {
	switch TypeOf(raw) {
	case "number":
		ms, err := strconv.ParseFloat(string(raw), 64)
		if err != nil || math.Abs(ms) > maxMillis {
			return time.Time{}, errors.New("is a number that is not a time in milliseconds")
		}
		return time.UnixMilli(int64(ms)).UTC(), nil
	case "string":
		s, _ := String(raw)
		t, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			return time.Time{}, errors.New("is a string that is not an ISO 8601 time")
		}
		return t.UTC(), nil
	}
	return time.Time{}, wrong("number or string", raw)
}
