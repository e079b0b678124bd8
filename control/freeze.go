package control

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"
	"unsafe"
)

// freeze writes a value with everything that it holds and points to, exported or
// not, each thing that is pointed to once. Functions and interfaces must be nil.
// The same value gives the same bytes.
//
// It is for the cache of a fold, which has to follow every change of the fold's
// types by itself: whoever adds a field cannot forget it here.
func freeze(root any) ([]byte, error) {
	f := freezer{ids: map[pointee]uint64{}}
	if err := f.value(reflect.ValueOf(root).Elem()); err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	return f.b, nil
}

type freezer struct {
	b   []byte
	ids map[pointee]uint64 // of what is written already, from 1
}

// pointee tells a struct from its first field, which lies at the same place.
type pointee struct {
	at unsafe.Pointer
	is reflect.Type
}

func (f *freezer) value(v reflect.Value) error {
	v = reach(v)
	if v.Type() == timeType {
		t := *(*time.Time)(unsafe.Pointer(v.UnsafeAddr()))
		raw, err := t.MarshalBinary()
		f.bytes(raw)
		return err
	}
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			f.b = append(f.b, 1)
		} else {
			f.b = append(f.b, 0)
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		f.b = binary.AppendVarint(f.b, v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		f.b = binary.AppendUvarint(f.b, v.Uint())
	case reflect.String:
		f.b = binary.AppendUvarint(f.b, uint64(v.Len()))
		f.b = append(f.b, v.String()...)
	case reflect.Pointer:
		return f.pointer(v)
	case reflect.Slice:
		return f.slice(v)
	case reflect.Map:
		return f.mapping(v)
	case reflect.Struct:
		for i := range v.NumField() {
			if err := f.value(v.Field(i)); err != nil {
				return err
			}
		}
	case reflect.Func, reflect.Interface:
		if !v.IsNil() {
			return fmt.Errorf("a %s cannot be kept", v.Type())
		}
	default:
		return fmt.Errorf("a %s cannot be kept", v.Type())
	}
	return nil
}

func (f *freezer) bytes(b []byte) {
	f.b = binary.AppendUvarint(f.b, uint64(len(b)))
	f.b = append(f.b, b...)
}

func (f *freezer) pointer(v reflect.Value) error {
	if v.IsNil() {
		f.b = append(f.b, 0)
		return nil
	}
	p := pointee{v.UnsafePointer(), v.Type()}
	if id, ok := f.ids[p]; ok {
		f.b = binary.AppendUvarint(f.b, id)
		return nil
	}
	f.ids[p] = uint64(len(f.ids) + 1)
	f.b = binary.AppendUvarint(f.b, f.ids[p])
	return f.value(v.Elem())
}

// slice tells nil from empty: its length and one more, or 0.
func (f *freezer) slice(v reflect.Value) error {
	if v.IsNil() {
		f.b = append(f.b, 0)
		return nil
	}
	f.b = binary.AppendUvarint(f.b, uint64(v.Len())+1)
	if v.Type().Elem().Kind() == reflect.Uint8 {
		f.b = append(f.b, v.Bytes()...)
		return nil
	}
	for i := range v.Len() {
		if err := f.value(v.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

// mapping writes a map's entries in the order of their written keys.
func (f *freezer) mapping(v reflect.Value) error {
	if v.IsNil() {
		f.b = append(f.b, 0)
		return nil
	}
	f.b = binary.AppendUvarint(f.b, uint64(v.Len())+1)
	type entry struct {
		key   []byte
		value reflect.Value
	}
	entries := make([]entry, 0, v.Len())
	keys := freezer{ids: f.ids}
	for it := v.MapRange(); it.Next(); {
		at := len(keys.b)
		if err := keys.value(settable(it.Key())); err != nil {
			return err
		}
		entries = append(entries, entry{keys.b[at:len(keys.b):len(keys.b)], it.Value()})
	}
	slices.SortFunc(entries, func(a, b entry) int { return bytes.Compare(a.key, b.key) })
	for _, e := range entries {
		f.b = append(f.b, e.key...)
		if err := f.value(settable(e.value)); err != nil {
			return err
		}
	}
	return nil
}

// settable is a copy that has an address, as what is in a map has none.
func settable(v reflect.Value) reflect.Value {
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	return c
}

// reach gives access to a value whatever the name of the field that it is in.
func reach(v reflect.Value) reflect.Value {
	if v.CanSet() || !v.CanAddr() {
		return v
	}
	return reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
}

var errThaw = errors.New("snapshot: it is cut or is of something else")

// thaw reads what freeze wrote into a value of the same type. After an error the
// value is of no use.
func thaw(b []byte, root any) (err error) {
	t := thawer{b: string(b)}
	defer func() {
		if p := recover(); p != nil {
			if p != errThaw {
				panic(p)
			}
			err = errThaw
		}
	}()
	t.value(reflect.ValueOf(root).Elem())
	if t.b != "" {
		return errThaw
	}
	return nil
}

// thawer reads from the front of b; its strings are parts of b.
type thawer struct {
	b   string
	ptr []reflect.Value // what was read, by id from 1
}

func (t *thawer) uvarint() uint64 {
	var x uint64
	for i := 0; i < len(t.b) && i < binary.MaxVarintLen64; i++ {
		c := t.b[i]
		x |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			t.b = t.b[i+1:]
			return x
		}
	}
	panic(errThaw)
}

// length reads the number of things that follow, each of at least one byte.
func (t *thawer) length() int {
	n := t.uvarint()
	if n > uint64(len(t.b)) {
		panic(errThaw)
	}
	return int(n)
}

func (t *thawer) text() string {
	n := t.length()
	s := t.b[:n]
	t.b = t.b[n:]
	return s
}

func (t *thawer) value(v reflect.Value) {
	v = reach(v)
	if v.Type() == timeType {
		if err := v.Addr().Interface().(*time.Time).UnmarshalBinary([]byte(t.text())); err != nil {
			panic(errThaw)
		}
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(t.uvarint() != 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		x := t.uvarint()
		n := int64(x >> 1)
		if x&1 != 0 {
			n = ^n
		}
		v.SetInt(n)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(t.uvarint())
	case reflect.String:
		v.SetString(t.text())
	case reflect.Pointer:
		t.pointer(v)
	case reflect.Slice:
		t.slice(v)
	case reflect.Map:
		t.mapping(v)
	case reflect.Struct:
		for i := range v.NumField() {
			t.value(v.Field(i))
		}
	case reflect.Func, reflect.Interface:
		v.SetZero()
	default:
		panic(errThaw)
	}
}

func (t *thawer) pointer(v reflect.Value) {
	switch id := t.uvarint(); {
	case id == 0:
		v.SetZero()
	case id <= uint64(len(t.ptr)):
		if t.ptr[id-1].Type() != v.Type() {
			panic(errThaw)
		}
		v.Set(t.ptr[id-1])
	case id == uint64(len(t.ptr))+1:
		p := reflect.New(v.Type().Elem())
		t.ptr = append(t.ptr, p.Convert(v.Type()))
		v.Set(t.ptr[id-1])
		t.value(p.Elem())
	default:
		panic(errThaw)
	}
}

// count reads what tells nil from empty.
func (t *thawer) count() (n int, null bool) {
	x := t.uvarint()
	if x > uint64(len(t.b))+1 {
		panic(errThaw)
	}
	return int(x) - 1, x == 0
}

func (t *thawer) slice(v reflect.Value) {
	n, null := t.count()
	switch {
	case null:
		v.SetZero()
	case v.Type().Elem().Kind() == reflect.Uint8:
		v.SetBytes([]byte(t.b[:n]))
		t.b = t.b[n:]
	default:
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			t.value(v.Index(i))
		}
	}
}

func (t *thawer) mapping(v reflect.Value) {
	n, null := t.count()
	if null {
		v.SetZero()
		return
	}
	m := reflect.MakeMapWithSize(v.Type(), n)
	for range n {
		key, val := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		t.value(key)
		t.value(val)
		m.SetMapIndex(key, val)
	}
	v.Set(m)
}
