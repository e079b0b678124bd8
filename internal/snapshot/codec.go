// Package snapshot writes what a fold holds as bytes and reads them back, by the types of it. The package that has the fold
// lists the fields of its own types that are not all exported.
package snapshot

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Format is the version of the encoding of a snapshot. It rises when a function of this
// package writes other bytes than before. The contents have versions of their own (leaderFold,
// workerFold) and a shape.
const Format = 2

var ErrInvalid = errors.New("snapshot: it is cut or is of something else")

// Codec writes a fold, or reads one. The same function does both, so that what is written and what is read cannot differ.
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
	c.text(&version)
	fields(c, x)
	return c.out, c.err
}

// Decode reads what encode wrote of the same version. After an error x is of no use.
func Decode[T any](b []byte, version string, x *T, fields func(*Codec, *T)) error {
	c := &Codec{reading: true, in: string(b)}
	var is string
	if c.text(&is); is != version {
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
	x, n := binary.Uvarint([]byte(c.in[:min(len(c.in), binary.MaxVarintLen64)]))
	if n <= 0 {
		c.fail()
		return 0
	}
	c.in = c.in[n:]
	return x
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

func (c *Codec) unsigned(x *uint64) {
	if c.reading {
		*x = c.uvarint()
		return
	}
	c.out = binary.AppendUvarint(c.out, *x)
}

func (c *Codec) signed(x *int64) {
	n := uint64(*x<<1) ^ uint64(*x>>63)
	c.unsigned(&n)
	*x = int64(n>>1) ^ -int64(n&1)
}

func (c *Codec) flag(x *bool) {
	n := uint64(0)
	if *x {
		n = 1
	}
	c.unsigned(&n)
	if *x = n == 1; n > 1 {
		c.fail()
	}
}

func (c *Codec) text(x *string) {
	if c.reading {
		*x = c.bytes(c.uvarint())
		return
	}
	c.out = binary.AppendUvarint(c.out, uint64(len(*x)))
	c.out = append(c.out, *x...)
}

// instant has its zone, and no monotonic clock.
func (c *Codec) instant(x *time.Time) {
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
