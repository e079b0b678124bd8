package snapshot_test

import (
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"waggle/internal/snapshot"
	"waggle/internal/test/testenv"
)

// value is the codec of any type.
func value[T any](c *snapshot.Codec, x *T) { snapshot.Values(c, x) }

// written is the output of Encode for x behind its version, which is "v".
func written[T any](t *testing.T, x T, fields func(*snapshot.Codec, *T)) string {
	t.Helper()
	b, err := snapshot.Encode("v", &x, fields)
	if err != nil {
		t.Fatalf("%v: %v", x, err)
	}
	rest, ok := strings.CutPrefix(string(b), "\x01v")
	if !ok {
		t.Fatalf("%q has no version before it", b)
	}
	return rest
}

// read reads the text that written returns.
func read[T any](s string, fields func(*snapshot.Codec, *T)) (x T, err error) {
	err = snapshot.Decode([]byte("\x01v"+s), "v", &x, fields)
	return x, err
}

// form is a value and its bytes.
func form[T comparable](t *testing.T, x T, want string, fields func(*snapshot.Codec, *T)) {
	t.Helper()
	if got := written(t, x, fields); got != want {
		t.Errorf("%v is written as %q, want %q", x, got, want)
	}
	if got, err := read(want, fields); err != nil || got != x {
		t.Errorf("%q is read as %v, %v, want %v", want, got, err, x)
	}
}

// refuse checks that no value is read from s.
func refuse[T any](t *testing.T, what, s string, fields func(*snapshot.Codec, *T)) {
	t.Helper()
	if x, err := read(s, fields); !errors.Is(err, snapshot.ErrInvalid) {
		t.Errorf("%s: %q is read as %v, %v", what, s, x, err)
	}
}

// TestForm pins the bytes of each kind of field: Format rises when one of them changes.
func TestForm(t *testing.T) {
	if snapshot.Format != 2 {
		t.Errorf("the format is %d: the bytes below are those of 2", snapshot.Format)
	}
	u := value[uint64]
	form(t, 0, "\x00", u)
	form(t, 127, "\x7f", u)
	form(t, 128, "\x80\x01", u)
	form(t, 1<<32, "\x80\x80\x80\x80\x10", u)
	form(t, math.MaxUint64, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", u)
	s := value[int64]
	form(t, 0, "\x00", s)
	form(t, -1, "\x01", s)
	form(t, 1, "\x02", s)
	form(t, -64, "\x7f", s)
	form(t, 64, "\x80\x01", s)
	form(t, math.MaxInt64, "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", s)
	form(t, math.MinInt64, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", s)
	form(t, false, "\x00", value[bool])
	form(t, true, "\x01", value[bool])
	form(t, "", "\x00", value[string])
	form(t, "née", "\x04n\xc3\xa9e", value[string])
	form(t, strings.Repeat("x", 200), "\xc8\x01"+strings.Repeat("x", 200), value[string])

	list := value[[]string]
	for want, x := range map[string][]string{"\x00": nil, "\x01": {}, "\x02\x00": {""}, "\x03\x01a\x02bc": {"a", "bc"}} {
		if got := written(t, x, list); got != want {
			t.Errorf("%q is written as %q, want %q", x, got, want)
		}
		if got, err := read(want, list); err != nil || !slices.Equal(got, x) || (got == nil) != (x == nil) {
			t.Errorf("%q is read as %#v, %v, want %#v", want, got, err, x)
		}
	}
}

var dict = value[map[string]uint64]

// TestMapsAreSorted: a map is written in the order of its written keys, every time.
func TestMapsAreSorted(t *testing.T) {
	x := map[string]uint64{"bb": 1, "a": 2, "c": 3, "": 4, "aa": 5}
	const want = "\x06" + "\x00\x04" + "\x01a\x02" + "\x01c\x03" + "\x02aa\x05" + "\x02bb\x01"
	for range 50 {
		if got := written(t, x, dict); got != want {
			t.Fatalf("%q, want %q", got, want)
		}
	}
	for want, isNil := range map[string]bool{"\x00": true, "\x01": false} {
		got, err := read(want, dict)
		if err != nil || len(got) != 0 || (got == nil) != isNil {
			t.Errorf("%q is read as %#v, %v", want, got, err)
		}
		if again := written(t, got, dict); again != want {
			t.Errorf("%q is written as %q", want, again)
		}
	}
}

// TestNumbersAreBounded: a varint of more than ten bytes, a flag that is neither true nor false, and
// an item that is longer than the rest are refused.
func TestNumbersAreBounded(t *testing.T) {
	nine := strings.Repeat("\x80", 9)
	form(t, 1<<63, nine+"\x01", value[uint64])
	refuse(t, "eleven bytes", nine+"\x80\x00", value[uint64])
	refuse(t, "no last byte", "\x80", value[uint64])
	refuse(t, "no byte", "", value[uint64])
	refuse(t, "no byte", "", value[int])
	refuse(t, "no byte", "", value[bool])
	refuse(t, "2", "\x02", value[bool])
	refuse(t, "128", "\x80\x01", value[bool])
	form(t, "ab", "\x02ab", value[string])
	refuse(t, "longer than the rest", "\x03ab", value[string])
	refuse(t, "shorter than the rest", "\x01ab", value[string])
	refuse(t, "as long as there are numbers", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01ab", value[string])
}

// TestInstants: an instant keeps its nanoseconds and its zone; one whose zone cannot be written is
// an error.
func TestInstants(t *testing.T) {
	for _, zone := range []*time.Location{time.UTC, time.FixedZone("", 5400), time.FixedZone("", -12*3600)} {
		x := time.Date(2026, 2, 3, 4, 5, 6, 789, zone)
		got, err := read(written(t, x, value[time.Time]), value[time.Time])
		if err != nil || got.Format(time.RFC3339Nano) != x.Format(time.RFC3339Nano) || !got.Equal(x) {
			t.Errorf("%v is read as %v, %v", x, got, err)
		}
	}
	var zero time.Time
	if got, err := read(written(t, zero, value[time.Time]), value[time.Time]); err != nil || !got.IsZero() {
		t.Errorf("the zero time is read as %v, %v", got, err)
	}
	now := time.Now() // has a monotonic clock
	if got, err := read(written(t, now, value[time.Time]), value[time.Time]); err != nil || !got.Equal(now) || got != got.Round(0) {
		t.Errorf("%v is read as %v, %v", now, got, err)
	}
	far := time.Unix(0, 0).In(time.FixedZone("", 40_000*60))
	if b, err := snapshot.Encode("v", &far, value[time.Time]); err == nil || !strings.HasPrefix(err.Error(), "snapshot: ") {
		t.Errorf("a zone that cannot be written: %q, %v", b, err)
	}
	good := written(t, now, value[time.Time])
	refuse(t, "no instant", "\x00", value[time.Time])
	refuse(t, "an unknown form", good[:1]+"\x09"+good[2:], value[time.Time])
	refuse(t, "cut", good[:len(good)-1], value[time.Time])
}

// TestReadOverOld: a field that was empty when it was written is empty when it is read, whatever the
// value held before.
func TestReadOverOld(t *testing.T) {
	type old struct {
		List []string
		Dict map[string]string
		Ptr  *string
	}
	fields := value[old]
	b, err := snapshot.Encode("v", &old{}, fields)
	testenv.Must(t, err)
	s := "before"
	x := old{List: []string{s}, Dict: map[string]string{s: s}, Ptr: &s}
	if err := snapshot.Decode(b, "v", &x, fields); err != nil || x.List != nil || x.Dict != nil || x.Ptr != nil {
		t.Errorf("%+v, %v", x, err)
	}
}

// node is an item of a list that may be a circle.
type node struct {
	Name string
	Next *node
	Flag *bool
}

var nodes = value[node]

// TestPointers: a value to which several pointers lead is written once, in a circle too.
func TestPointers(t *testing.T) {
	yes := true
	b := &node{Name: "b", Flag: &yes}
	c := &node{Name: "c", Next: b, Flag: &yes}
	b.Next = c
	const want = "\x01a" + "\x01" + "\x01b" + "\x02" + "\x01c" + "\x01" + "\x03\x01" + "\x03" + "\x00"
	s := written(t, node{Name: "a", Next: b}, nodes)
	if s != want {
		t.Errorf("%q, want %q", s, want)
	}
	got, err := read(s, nodes)
	if err != nil || got.Flag != nil {
		t.Fatal(err)
	}
	if x := got.Next; x.Name != "b" || x.Next.Name != "c" || x.Next.Next != x || x.Flag != x.Next.Flag || !*x.Flag {
		t.Errorf("%+v", x)
	}
	refuse(t, "a number that was not given", "\x01a\x02\x01b\x00\x00\x00", nodes)
	refuse(t, "a pointer to another type", "\x01a\x01\x01b\x00\x00\x01", nodes)
}

// TestPointersOfLists: pointers and lists are items.
func TestPointersOfLists(t *testing.T) {
	type board map[string][]*node
	fields := value[board]
	one := &node{Name: "one"}
	s := written(t, board{"k": {one, nil, one}, "l": nil, "m": {}}, fields)
	got, err := read(s, fields)
	if err != nil || len(got) != 3 || len(got["k"]) != 3 || got["l"] != nil || got["m"] == nil || len(got["m"]) != 0 {
		t.Fatalf("%v, %v", got, err)
	}
	if k := got["k"]; k[0] == nil || k[0].Name != "one" || k[1] != nil || k[2] != k[0] {
		t.Errorf("%v", k)
	}
}

// TestLengthsAreBounded: a list or a map has at most as many items as there are bytes left, so that a
// false length costs nothing; one more is refused.
func TestLengthsAreBounded(t *testing.T) {
	type none struct{}
	items := 0
	snapshot.Own(func(c *snapshot.Codec, _ *none) { items++ })
	list := value[[]none]
	if x, err := read("\x04\x01\x00\x01", value[[]bool]); err != nil || len(x) != 3 {
		t.Errorf("as many items as bytes: %v, %v", x, err)
	}
	for what, s := range map[string]string{
		"one item, no byte":      "\x02",
		"four items, three left": "\x05\x00\x00\x00",
		"2^63 items":             "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
		"2^64 items":             "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
	} {
		refuse(t, what, s, list)
		refuse(t, what, s, dict)
	}
	if items != 0 {
		t.Errorf("%d items were read of lists that are too long", items)
	}
}

// TestNoBomb: the memory for the items of a list or a map is bounded before they are read, and nothing
// is read behind the first invalid item.
func TestNoBomb(t *testing.T) {
	type big struct {
		flag bool
		_    [1023]byte
	}
	items := 0
	snapshot.Own(func(c *snapshot.Codec, x *big) { items++; snapshot.Values(c, &x.flag) })
	list, maps := value[[]big], value[map[string]big]
	const n = 1 << 20 // a length that the rest allows
	claim := "\x81\x80\x40"
	bytesOf := func(read func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		read()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	rest := strings.Repeat("\x02", n)
	got := bytesOf(func() { refuse(t, "a list", claim+rest, list) })
	if got += bytesOf(func() { refuse(t, "a map", claim+"\x00"+rest, maps) }); got > 64<<20 {
		t.Errorf("%d MiB for lists whose first item is invalid", got>>20)
	}
	if items != 2 {
		t.Errorf("%d items were read, want the first of each", items)
	}
}

// TestAfterAnError: the rest of a record decodes as zeros, and the error stays.
func TestAfterAnError(t *testing.T) {
	type two struct {
		Text string
		N    uint64
		P    *bool
	}
	x := two{N: 9}
	err := snapshot.Decode([]byte("\x01v\x05ab"), "v", &x, value)
	if !errors.Is(err, snapshot.ErrInvalid) || x != (two{}) {
		t.Errorf("%v, %+v", err, x)
	}
}
