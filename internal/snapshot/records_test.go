package snapshot_test

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"waggle/internal/snapshot"
	"waggle/internal/test/testenv"
	_ "waggle/internal/test/testenv/seeded"
	"waggle/policy"
	"waggle/record"
	"waggle/spawn"
)

// codec is the function of one type, tried with values of that type.
type codec struct {
	typ   reflect.Type
	bytes func(x any) ([]byte, error)
	value func(b []byte) (any, error)
}

func of[T any]() codec {
	return codec{
		typ:   reflect.TypeFor[T](),
		bytes: func(x any) ([]byte, error) { v := x.(T); return snapshot.Encode("v1", &v, value) },
		value: func(b []byte) (any, error) {
			var v T
			err := snapshot.Decode(b, "v1", &v, value)
			return v, err
		},
	}
}

// codecs are of types of records that a fold keeps.
var codecs = map[string]codec{
	"PolicySet": of[record.PolicySet](), "Scoped": of[record.Scoped](), "Key": of[record.Key](), "HostGrant": of[record.HostGrant](), "Ceiling": of[record.Ceiling](), "Ask": of[record.Ask](), "Bound": of[record.Bound](),
	"Resolved": of[record.Resolved](), "Script": of[record.Script](), "Decided": of[record.Decided](), "Mail": of[record.Mail](), "Judged": of[record.Judged](), "Commanded": of[record.Commanded](), "Task": of[record.Task](),
	"Words": of[record.Words](), "Joined": of[record.Joined](), "Restart": of[record.Restart](), "Worktree": of[record.Worktree](), "Preparation": of[record.Preparation](), "Process": of[record.Process](), "Died": of[record.Died](), "Stopping": of[record.Stopping](), "Left": of[record.Left](), "Seen": of[record.Seen](),
	"Unverified": of[record.Unverified](), "Borrowed": of[record.Borrowed](), "Halted": of[record.Halted](), "Diverged": of[record.Diverged](), "Noticed": of[record.Noticed](), "LeadingProcess": of[record.LeadingProcess](), "Ending": of[record.Ending](), "Ended": of[record.Ended](), "Applied": of[record.Applied](), "Ready": of[record.Ready](),
	"Answered": of[record.Answered](), "Finished": of[record.Finished](), "Taken": of[record.Taken](), "Said": of[record.Said](), "Reply": of[record.Reply](), "Conversation": of[record.Conversation](), "Usage": of[record.Usage](),
	"Step": of[record.Step](), "Sandbox": of[record.Sandbox](), "SandboxLimits": of[record.SandboxLimits](), "Held": of[record.Held](), "Handles": of[record.Handles](), "GivenHandle": of[record.GivenHandle](), "UnverifiedAt": of[record.UnverifiedAt](), "DivergedAt": of[record.DivergedAt](), "IgnoredAt": of[record.IgnoredAt](), "Limit": of[record.Limit](), "Limited": of[record.Limited](), "Definition": of[record.Definition](), "Check": of[record.Check](),
	"Checked": of[record.Checked](), "Slept": of[record.Slept](), "Policy": of[policy.Policy](), "Own": of[policy.Own](),
	"RealPath": of[policy.RealPath](), "Identity": of[spawn.Identity](),
}

// leaves calls visit for every field below x that holds a text, a number, a flag or a time; lists,
// maps and pointers on the way are given one item.
func leaves(x reflect.Value, path string, visit func(path string, leaf reflect.Value)) {
	switch {
	case x.Type() == snapshot.TimeType:
		visit(path, x)
		return
	case x.Kind() == reflect.Slice && x.Type().Elem().Kind() == reflect.Uint8:
		visit(path, x)
		return
	}
	switch x.Kind() {
	case reflect.Struct:
		for i := range x.NumField() {
			leaves(x.Field(i), path+"."+x.Type().Field(i).Name, visit)
		}
	case reflect.Pointer:
		x.Set(reflect.New(x.Type().Elem()))
		leaves(x.Elem(), path, visit)
	case reflect.Slice:
		x.Set(reflect.MakeSlice(x.Type(), 1, 1))
		leaves(x.Index(0), path+"[0]", visit)
	case reflect.Map:
		k, v := reflect.New(x.Type().Key()).Elem(), reflect.New(x.Type().Elem()).Elem()
		leaves(k, path+"(key)", visit)
		leaves(v, path+"(value)", visit)
		x.Set(reflect.MakeMap(x.Type()))
		x.SetMapIndex(k, v)
	default:
		visit(path, x)
	}
}

// put gives a leaf the n-th of its values; no two are the same, but for a flag's.
func put(leaf reflect.Value, n int) {
	switch {
	case leaf.Type() == snapshot.TimeType:
		leaf.Set(reflect.ValueOf(time.Unix(int64(n), int64(n)).UTC()))
	case leaf.Kind() == reflect.Slice:
		leaf.SetBytes(fmt.Append(nil, n))
	case leaf.Kind() == reflect.String:
		leaf.SetString(fmt.Sprint("text ", n))
	case leaf.Kind() == reflect.Bool:
		leaf.SetBool(true)
	case leaf.CanUint():
		leaf.SetUint(uint64(n))
	default:
		leaf.SetInt(int64(-n))
	}
}

// TestEveryFieldIsKept: a value with a new content in every field is read back as it was.
func TestEveryFieldIsKept(t *testing.T) {
	for name, c := range codecs {
		x := reflect.New(c.typ).Elem()
		n := 0
		leaves(x, name, func(_ string, leaf reflect.Value) { n++; put(leaf, n) })
		again(t, name, c, x.Interface())
	}
}

// TestEveryFieldAlone: the bytes of a value with one field set differ from those without it, and are
// read back.
func TestEveryFieldAlone(t *testing.T) {
	for name, c := range codecs {
		count := 0
		leaves(reflect.New(c.typ).Elem(), name, func(string, reflect.Value) { count++ })
		seen := map[string]string{}
		for i := range count {
			x, n, at := reflect.New(c.typ).Elem(), 0, ""
			leaves(x, name, func(path string, leaf reflect.Value) {
				if n == i {
					at = path
					put(leaf, 7)
				}
				n++
			})
			b := again(t, at, c, x.Interface())
			if other, ok := seen[string(b)]; ok {
				t.Errorf("%s is written like %s", at, other)
			}
			seen[string(b)] = at
		}
	}
}

// again writes x, reads it and returns the bytes.
func again(t interface{ Fatalf(string, ...any) }, what string, c codec, x any) []byte {
	b, err := c.bytes(x)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	got, err := c.value(b)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if d := cmp.Diff(x, got); d != "" {
		t.Fatalf("%s: %s", what, d)
	}
	return b
}

// anyOf draws a value of a type: texts and lists may be empty, lists, maps and pointers nil.
func anyOf(t *rapid.T, typ reflect.Type) reflect.Value {
	x := reflect.New(typ).Elem()
	switch {
	case typ == snapshot.TimeType:
		zone := 900 * rapid.IntRange(-48, 56).Draw(t, "quarters of an hour")
		at := time.Unix(rapid.Int64Range(-1<<35, 1<<35).Draw(t, "s"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns"))
		x.Set(reflect.ValueOf(at.In(time.FixedZone("", zone))))
		return x
	case typ.Kind() == reflect.Slice && typ.Elem().Kind() == reflect.Uint8:
		x.SetBytes(rapid.SliceOfN(rapid.Byte(), -1, 9).Draw(t, "raw"))
		return x
	}
	switch typ.Kind() {
	case reflect.Struct:
		for i := range typ.NumField() {
			x.Field(i).Set(anyOf(t, typ.Field(i).Type))
		}
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "there") {
			x.Set(reflect.New(typ.Elem()))
			x.Elem().Set(anyOf(t, typ.Elem()))
		}
	case reflect.Slice:
		if n := rapid.IntRange(-1, 3).Draw(t, "len"); n >= 0 {
			x.Set(reflect.MakeSlice(typ, n, n))
			for i := range n {
				x.Index(i).Set(anyOf(t, typ.Elem()))
			}
		}
	case reflect.Map:
		if n := rapid.IntRange(-1, 3).Draw(t, "len"); n >= 0 {
			x.Set(reflect.MakeMap(typ))
			for range n {
				x.SetMapIndex(anyOf(t, typ.Key()), anyOf(t, typ.Elem()))
			}
		}
	case reflect.String:
		x.SetString(rapid.StringN(0, 8, 40).Draw(t, "text"))
	case reflect.Bool:
		x.SetBool(rapid.Bool().Draw(t, "flag"))
	case reflect.Uint64:
		x.SetUint(rapid.Uint64().Draw(t, "unsigned"))
	default:
		x.SetInt(rapid.Int64().Draw(t, "signed"))
	}
	return x
}

// TestAnyRecord: any record is read back; a record that is cut anywhere, has more bytes behind it or
// is of another version is refused.
func TestAnyRecord(t *testing.T) {
	names := slices.Sorted(maps.Keys(codecs))
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(names).Draw(t, "type")
		c := codecs[name]
		b := again(t, name, c, anyOf(t, c.typ).Interface())
		refused := func(what string, b []byte) {
			if _, err := c.value(b); !errors.Is(err, snapshot.ErrInvalid) {
				t.Fatalf("%s, %s: %v", name, what, err)
			}
		}
		refused("cut", b[:rapid.IntRange(0, len(b)-1).Draw(t, "cut")])
		refused("one byte more", append(b[:len(b):len(b)], rapid.Byte().Draw(t, "more")))
		refused("another version", append([]byte{2, 'v', '2'}, b[3:]...))
		refused("a shorter version", append([]byte{1, 'v'}, b[3:]...))
	})
}

// TestGarbage: bytes that no fold wrote are read as an error or as a value, and never panic.
func TestGarbage(t *testing.T) {
	c := codecs["PolicySet"]
	x := reflect.New(c.typ).Elem()
	leaves(x, "", func(_ string, leaf reflect.Value) { put(leaf, 3) })
	b, err := c.bytes(x.Interface())
	testenv.Must(t, err)
	rapid.Check(t, func(t *rapid.T) {
		other := append([]byte(nil), b...)
		for range rapid.IntRange(1, 4).Draw(t, "times") {
			other[rapid.IntRange(3, len(b)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "is")
		}
		if v, err := c.value(other); err == nil {
			again(t, "read of garbage", c, v)
		} else if !errors.Is(err, snapshot.ErrInvalid) {
			t.Fatal(err)
		}
	})
}

// TestPointersOfRecords: two pointers to one value stay two pointers to one value.
func TestPointersOfRecords(t *testing.T) {
	until, key := time.Unix(9, 0).UTC(), &record.Key{Instance: "i", ID: "p"}
	x := record.PolicySet{
		Rules:   []record.Scoped{{Until: &until, From: key}, {Until: &until}},
		Hosts:   []record.HostGrant{{Until: &until, From: key}},
		Lead:    &policy.Policy{Version: 3},
		Ceiling: &record.Ceiling{File: "f"},
	}
	b, err := snapshot.Encode("v1", &x, value)
	var got record.PolicySet
	if err == nil {
		err = snapshot.Decode(b, "v1", &got, value)
	}
	testenv.Must(t, err)
	if got.Rules[0].Until != got.Rules[1].Until || got.Rules[0].Until != got.Hosts[0].Until || got.Rules[0].From != got.Hosts[0].From {
		t.Error("what was one is two")
	}
	if d := cmp.Diff(x, got); d != "" {
		t.Error(d)
	}
}

// TestExitCode: no exit code, the code 0 and another code are read back as three different values.
func TestExitCode(t *testing.T) {
	zero, one := 0, 1
	for _, code := range []*int{nil, &zero, &one} {
		again(t, "exit code", codecs["Finished"], record.Finished{ExitCode: code})
	}
	again(t, "identity", codecs["Identity"], spawn.Identity{PID: -1})
}
