package snapshot

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Format is the version of the encoding of a snapshot. It rises when a function of this
// file writes other bytes than before. The contents have versions of their own (leaderFold,
// workerFold) and a shape.
const Format = 2

var ErrInvalid = errors.New("snapshot: it is cut or is of something else")

// Codec writes a fold, or reads one. One function a type lists its fields and does both,
// so that what is written and what is read cannot differ.
//
// Integers are varints, a text is its length and its bytes, a list or a map is its length
// and one more (0: nil) and its items, those of a map in the order of their written keys.
// A pointer is 0 for nil, or the number of what it points to; the first pointer to
// something has the next free number, and what it points to follows. The same fold gives
// the same bytes.
type Codec struct {
	out []byte         // the encoded bytes
	ids map[any]uint64 // the numbers of the pointers that were written

	reading bool
	in      string // the bytes still to decode; decoded texts are parts of it
	ptrs    []any  // the pointers that were read, number 1 first
	err     error
}

// Encode writes what fields lists of x, behind the name of its version.
func Encode[T any](version string, x *T, fields func(*Codec, *T)) ([]byte, error) {
	c := &Codec{ids: map[any]uint64{}}
	Text(c, &version)
	fields(c, x)
	return c.out, c.err
}

// Decode reads what encode wrote of the same version. After an error x is of no use.
func Decode[T any](b []byte, version string, x *T, fields func(*Codec, *T)) error {
	c := &Codec{reading: true, in: string(b)}
	var is string
	if Text(c, &is); is != version {
		return ErrInvalid
	}
	fields(c, x)
	if c.in != "" {
		c.fail()
	}
	return c.err
}

// fail ends the decoding: the rest decodes as zeros.
func (c *Codec) fail() { c.err, c.in = ErrInvalid, "" }

func (c *Codec) uvarint() uint64 {
	var x uint64
	for i := 0; i < len(c.in) && i < binary.MaxVarintLen64; i++ {
		b := c.in[i]
		x |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			c.in = c.in[i+1:]
			return x
		}
	}
	c.fail()
	return 0
}

// bytes reads n bytes.
func (c *Codec) bytes(n uint64) string {
	if n > uint64(len(c.in)) {
		c.fail()
		return ""
	}
	s := c.in[:n]
	c.in = c.in[n:]
	return s
}

func Unsigned[T ~uint64](c *Codec, x *T) {
	if c.reading {
		*x = T(c.uvarint())
		return
	}
	c.out = binary.AppendUvarint(c.out, uint64(*x))
}

func Signed[T ~int | ~int64](c *Codec, x *T) {
	if !c.reading {
		c.out = binary.AppendVarint(c.out, int64(*x))
		return
	}
	n := c.uvarint()
	*x = T(int64(n>>1) ^ -int64(n&1))
}

func (c *Codec) Flag(x *bool) {
	if c.reading {
		n := c.uvarint()
		if *x = n == 1; n > 1 {
			c.fail()
		}
		return
	}
	n := byte(0)
	if *x {
		n = 1
	}
	c.out = append(c.out, n)
}

func Text[T ~string](c *Codec, x *T) {
	if c.reading {
		*x = T(c.bytes(c.uvarint()))
		return
	}
	c.out = binary.AppendUvarint(c.out, uint64(len(*x)))
	c.out = append(c.out, *x...)
}

// Instant has its zone, and no monotonic clock.
func (c *Codec) Instant(x *time.Time) {
	if !c.reading {
		c.out = append(c.out, 0) // its length
		at := len(c.out)
		b, err := x.AppendBinary(c.out)
		if err != nil {
			c.err = fmt.Errorf("snapshot: %w", err)
			return
		}
		b[at-1] = byte(len(b) - at)
		c.out = b
		return
	}
	if err := x.UnmarshalBinary([]byte(c.bytes(c.uvarint()))); err != nil {
		c.fail()
	}
}

func (c *Codec) raw(x *json.RawMessage) {
	n, null := c.size(len(*x), *x == nil)
	switch {
	case !c.reading:
		c.out = append(c.out, *x...)
	case null:
		*x = nil
	default:
		*x = json.RawMessage(c.bytes(uint64(n)))
	}
}

// size is the length of a list or a map. Each item takes at least one byte, so that a length beyond
// the rest is refused before memory is allocated.
func (c *Codec) size(have int, isNil bool) (n int, null bool) {
	if c.reading {
		m := c.uvarint()
		if m > uint64(len(c.in))+1 {
			c.fail()
			return 0, true
		}
		return int(m) - 1, m == 0
	}
	if isNil {
		c.out = append(c.out, 0)
		return 0, true
	}
	c.out = binary.AppendUvarint(c.out, uint64(have)+1)
	return have, false
}

// roomAhead bounds what is set aside for items before they are read.
const roomAhead = 1 << 12

func List[S ~[]T, T any](c *Codec, x *S, item func(*Codec, *T)) {
	n, null := c.size(len(*x), *x == nil)
	switch {
	case null && c.reading:
		*x = nil
	case c.reading:
		s := make(S, 0, min(n, roomAhead))
		for range n {
			if c.err != nil {
				return
			}
			var t T
			item(c, &t)
			s = append(s, t)
		}
		*x = s
	default:
		for i := range *x {
			item(c, &(*x)[i])
		}
	}
}

func Dict[M ~map[K]V, K comparable, V any](c *Codec, x *M, key func(*Codec, *K), value func(*Codec, *V)) {
	n, null := c.size(len(*x), *x == nil)
	switch {
	case null && c.reading:
		*x = nil
	case c.reading:
		m := make(M, min(n, roomAhead))
		for range n {
			var k K
			var v V
			key(c, &k)
			value(c, &v)
			if c.err != nil {
				return
			}
			m[k] = v
		}
		*x = m
	default:
		writeSorted(c, *x, key, value)
	}
}

// writeSorted writes the items of a map by their written keys.
func writeSorted[K comparable, V any](c *Codec, m map[K]V, key func(*Codec, *K), value func(*Codec, *V)) {
	type item struct {
		from, to int // of its key
		value    V
	}
	var keys Codec // a key holds no pointer
	items := make([]item, 0, len(m))
	for k, v := range m {
		from := len(keys.out)
		key(&keys, &k)
		items = append(items, item{from: from, to: len(keys.out), value: v})
	}
	slices.SortFunc(items, func(a, b item) int { return bytes.Compare(keys.out[a.from:a.to], keys.out[b.from:b.to]) })
	for i := range items {
		c.out = append(c.out, keys.out[items[i].from:items[i].to]...)
		value(c, &items[i].value)
	}
}

// Shared encodes a pointer: a value with several pointers to it is encoded once and decoded once.
func Shared[T any](c *Codec, x **T, fields func(*Codec, *T)) {
	if c.reading {
		readShared(c, x, fields)
		return
	}
	if *x == nil {
		c.out = append(c.out, 0)
		return
	}
	id, there := c.ids[*x]
	if !there {
		id = uint64(len(c.ids) + 1)
		c.ids[*x] = id
	}
	c.out = binary.AppendUvarint(c.out, id)
	if !there {
		fields(c, *x)
	}
}

func readShared[T any](c *Codec, x **T, fields func(*Codec, *T)) {
	*x = nil
	switch id := c.uvarint(); {
	case id == 0:
	case id <= uint64(len(c.ptrs)):
		p, ok := c.ptrs[id-1].(*T)
		if !ok {
			c.fail()
			return
		}
		*x = p
	case id == uint64(len(c.ptrs))+1:
		p := new(T)
		c.ptrs = append(c.ptrs, p)
		fields(c, p)
		*x = p
	default:
		c.fail()
	}
}

// To is shared as the item of a list or a map.
func To[T any](fields func(*Codec, *T)) func(*Codec, **T) {
	return func(c *Codec, x **T) { Shared(c, x, fields) }
}

// ListOf is list as the item of a map.
func ListOf[T any](item func(*Codec, *T)) func(*Codec, *[]T) {
	return func(c *Codec, x *[]T) { List(c, x, item) }
}
