package mailbox

import (
	"testing"

	"waggle/internal/fs/atomicfile"
	"waggle/protocol"
)

// Names for tests of unexported code.

// With returns o with how a new content replaces the old one, and what is flushed before.
func (o Options) With(t atomicfile.Tier, s atomicfile.Sync) Options {
	o.tier, o.sync = t, s
	return o
}

// Scan returns where the elements of an array begin and end and which are marked
// read, those before the error if there is one.
func Scan(data []byte) (elems [][2]int, read []bool, err error) {
	a, err := arrayFormat{}.scan(data, nil)
	for _, e := range a.elems {
		elems = append(elems, [2]int{e.start, e.end})
		read = append(read, e.read == readTrue)
	}
	return elems, read, err
}

// Rescan is Scan of data after a scan of old.
func Rescan(old, data []byte) (elems [][2]int, read []bool, err error) {
	was, err := arrayFormat{}.scan(old, nil)
	if err != nil {
		return Scan(data)
	}
	a, err := arrayFormat{}.scan(data, &contents{data: old, array: was})
	for _, e := range a.elems {
		elems = append(elems, [2]int{e.start, e.end})
		read = append(read, e.read == readTrue)
	}
	return elems, read, err
}

// Mark marks or removes the entries at these positions of a valid array.
func Mark(data []byte, r Retention, at ...int) []byte {
	a, err := arrayFormat{}.scan(data, nil)
	if err != nil {
		panic(err)
	}
	c := parse(data, a, nil, nil)
	var ids []ID
	for _, i := range at {
		ids = append(ids, c.entries[i].ID)
	}
	return atomicfile.Apply(data, markSplices(arrayFormat{}, c, ids, r))
}

// Mend is the repair of a broken file.
func Mend(data []byte) []byte {
	a, _ := arrayFormat{}.scan(data, nil)
	mended, _ := arrayFormat{}.mend(data, a)
	return mended
}

// LineScan returns the entries of a file of lines, read after old was read.
func LineScan(t testing.TB, old, data []byte) [][]byte {
	var was *contents
	if a, err := (lineFormat{}).scan(old, nil); err == nil {
		was = &contents{data: old, array: a}
	}
	a, err := lineFormat{}.scan(data, was)
	if err != nil {
		t.Fatalf("%q: %v", data, err)
	}
	var list [][]byte
	for _, e := range a.elems {
		list = append(list, data[e.start:e.end])
	}
	return list
}

// LineMend is the repair of broken lines.
func LineMend(data []byte) (mended, bad []byte) {
	a, _ := lineFormat{}.scan(data, nil)
	return lineFormat{}.mend(data, a)
}

// LineAppend adds an entry.
func LineAppend(data []byte, e protocol.Envelope) []byte {
	enc, err := encode(lineFormat{}, []protocol.Envelope{e})
	if err != nil {
		panic(err)
	}
	splices, err := lineFormat{}.add(memView(data), enc)
	if err != nil {
		panic(err)
	}
	return atomicfile.Apply(data, splices)
}

// LineTake removes the lines of the entries at these positions.
func LineTake(data []byte, at ...int) []byte {
	a, err := lineFormat{}.scan(data, nil)
	if err != nil {
		panic(err)
	}
	remove := make([]bool, len(a.elems))
	for _, i := range at {
		remove[i] = true
	}
	return atomicfile.Apply(data, lineFormat{}.without(&contents{data: data, array: a}, remove, nil))
}

const (
	MaxEntry    = maxEntry
	MaxElements = maxElements
)

// MemView shows bytes as a file.
func MemView(b []byte) atomicfile.View { return memView(b) }

// DefaultMatch is what a watch without Match is woken by.
var DefaultMatch = WatchOptions{}.match
