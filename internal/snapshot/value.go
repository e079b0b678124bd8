package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"
)

// Values encodes what pointers point to by their types: of a struct every field, in order. A type has exported fields
// only or is one of Own, and no interface, function, channel, array, or number of another kind than int, int64 and uint64;
// another one panics.
func Values(c *Codec, xs ...any) {
	for _, x := range xs {
		v := reflect.ValueOf(x).Elem()
		planOf(v.Type())(c, v)
	}
}

// Own says how values of a type with unexported fields are encoded. A package calls it for a variable, before any fold is
// encoded; the result has no meaning.
func Own[T any](fields func(*Codec, *T)) struct{} {
	plans.Store(reflect.TypeFor[T](), plan(func(c *Codec, v reflect.Value) { fields(c, v.Addr().Interface().(*T)) }))
	return struct{}{}
}

// plan encodes values of one type, which are addressable.
type plan func(*Codec, reflect.Value)

var plans sync.Map // reflect.Type: plan

func planOf(t reflect.Type) plan {
	if p, ok := plans.Load(t); ok {
		return p.(plan)
	}
	p := makePlan(t)
	plans.Store(t, p)
	return p
}

var rawType = reflect.TypeFor[json.RawMessage]()

func makePlan(t reflect.Type) plan {
	switch {
	case t == TimeType:
		return func(c *Codec, v reflect.Value) { c.instant(v.Addr().Interface().(*time.Time)) }
	case t == rawType:
		return func(c *Codec, v reflect.Value) { c.raw(v.Addr().Interface().(*json.RawMessage)) }
	}
	switch t.Kind() {
	case reflect.String:
		return func(c *Codec, v reflect.Value) { s := v.String(); c.text(&s); v.SetString(s) }
	case reflect.Bool:
		return func(c *Codec, v reflect.Value) { b := v.Bool(); c.flag(&b); v.SetBool(b) }
	case reflect.Int, reflect.Int64:
		return func(c *Codec, v reflect.Value) { n := v.Int(); c.signed(&n); v.SetInt(n) }
	case reflect.Uint64:
		return func(c *Codec, v reflect.Value) { n := v.Uint(); c.unsigned(&n); v.SetUint(n) }
	case reflect.Struct:
		return structPlan(t)
	case reflect.Slice:
		return listPlan(t)
	case reflect.Map:
		return dictPlan(t)
	case reflect.Pointer:
		return sharedPlan(t)
	}
	panic(fmt.Sprintf("snapshot: %s is no type of a fold", t))
}

// later is the plan of a type that may hold itself.
func later(t reflect.Type) func() plan { return sync.OnceValue(func() plan { return planOf(t) }) }

func structPlan(t reflect.Type) plan {
	var fields []plan
	for f := range t.Fields() {
		if !f.IsExported() {
			panic(fmt.Sprintf("snapshot: %s.%s is not exported", t, f.Name))
		}
		fields = append(fields, planOf(f.Type))
	}
	return func(c *Codec, v reflect.Value) {
		for i, field := range fields {
			field(c, v.Field(i))
		}
	}
}

func listPlan(t reflect.Type) plan {
	item, zero := later(t.Elem()), reflect.Zero(t.Elem())
	return func(c *Codec, v reflect.Value) {
		n, null := c.size(v.Len(), v.IsNil())
		switch {
		case null:
			v.SetZero()
		case c.reading:
			v.Set(reflect.MakeSlice(t, 0, min(n, roomAhead)))
			for i := 0; i < n && c.err == nil; i++ {
				v.Set(reflect.Append(v, zero))
				item()(c, v.Index(i))
			}
		default:
			for i := range n {
				item()(c, v.Index(i))
			}
		}
	}
}

func dictPlan(t reflect.Type) plan {
	key, value := later(t.Key()), later(t.Elem())
	return func(c *Codec, v reflect.Value) {
		n, null := c.size(v.Len(), v.IsNil())
		switch {
		case null:
			v.SetZero()
		case c.reading:
			v.Set(reflect.MakeMapWithSize(t, min(n, roomAhead)))
			for range n {
				k, e := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
				key()(c, k)
				if value()(c, e); c.err != nil {
					return
				}
				v.SetMapIndex(k, e)
			}
		default:
			for _, k := range sortedKeys(v, key()) {
				e := reflect.New(t.Elem()).Elem()
				e.Set(v.MapIndex(k.key))
				c.out = append(c.out, k.written...)
				value()(c, e)
			}
		}
	}
}

// writtenKey is a key of a map, and how it is written.
type writtenKey struct {
	key     reflect.Value
	written []byte
}

func sortedKeys(m reflect.Value, key plan) []writtenKey {
	var keys []writtenKey
	for _, k := range m.MapKeys() {
		var c Codec // a key holds no pointer
		x := reflect.New(k.Type()).Elem()
		x.Set(k)
		key(&c, x)
		keys = append(keys, writtenKey{k, c.out})
	}
	slices.SortFunc(keys, func(a, b writtenKey) int { return bytes.Compare(a.written, b.written) })
	return keys
}

func sharedPlan(t reflect.Type) plan {
	pointed := later(t.Elem())
	return func(c *Codec, v reflect.Value) {
		if c.reading {
			readPointer(c, v, pointed())
			return
		}
		if v.IsNil() {
			c.out = append(c.out, 0)
			return
		}
		p := v.Interface()
		id, there := c.ids[p]
		if !there {
			id = uint64(len(c.ids) + 1)
			c.ids[p] = id
		}
		if c.out = binary.AppendUvarint(c.out, id); !there {
			pointed()(c, v.Elem())
		}
	}
}

func readPointer(c *Codec, v reflect.Value, pointed plan) {
	v.SetZero()
	switch id := c.uvarint(); {
	case id == 0:
	case id <= uint64(len(c.ptrs)):
		p := reflect.ValueOf(c.ptrs[id-1])
		if p.Type() != v.Type() {
			c.fail()
			return
		}
		v.Set(p)
	case id == uint64(len(c.ptrs))+1:
		p := reflect.New(v.Type().Elem())
		c.ptrs = append(c.ptrs, p.Interface())
		pointed(c, p.Elem())
		v.Set(p)
	default:
		c.fail()
	}
}

// ShapeOf names a type by the names and types of everything in it.
func ShapeOf(t reflect.Type) string {
	h := sha256.New()
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(t reflect.Type) {
		fmt.Fprintf(h, "%s %s;", t, t.Kind())
		if seen[t] || t == TimeType {
			return
		}
		seen[t] = true
		switch t.Kind() {
		case reflect.Struct:
			for f := range t.Fields() {
				fmt.Fprintf(h, "%s:", f.Name)
				walk(f.Type)
			}
		case reflect.Map:
			walk(t.Key())
			walk(t.Elem())
		case reflect.Slice, reflect.Array, reflect.Pointer:
			walk(t.Elem())
		}
	}
	walk(t)
	return hex.EncodeToString(h.Sum(nil)[:8])
}

var TimeType = reflect.TypeFor[time.Time]()
