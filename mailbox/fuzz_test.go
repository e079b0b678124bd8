package mailbox_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/mailbox"
)

func seeds(f *testing.F) {
	for _, s := range []string{
		"[]", " [ ] ", "[1]", "[null,true,false]", `["a","\u0041\n","]"]`, `[{"read":true}]`, `[{"a":{"read":true},"read":false},2]`,
		"[" + e1 + "," + e2 + "]", "[" + e1 + ",", `[{"read":true,"read":false}]`, `[{"re\u0061d":true}]`, "[-0.5e+7, 1E2, 0]", "[01]", "[1,]",
		"[\"\x01\"]", "[\"\xff\"]", `["\ud800"]`, "{}", "", "[[[]]]", "[{}]", `[{"a" : 1 , "b":[{}] }]`, "[nul]", "[tru", "[1 2]", "[]x", `["\u12"]`, "[-]", "[1.]", "[1e]",
	} {
		f.Add([]byte(s))
	}
}

// The scanner agrees with encoding/json on what is valid, where elements are, and
// whether they are read.
func FuzzScan(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		if bytes.HasPrefix(data, []byte("\ufeff")) || bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{")) > 9000 {
			return // here the scanner is stricter than encoding/json
		}
		elems, read, err := mailbox.Scan(data)
		var want []json.RawMessage
		werr := json.Unmarshal(data, &want)
		if isNull := string(bytes.TrimSpace(data)) == "null"; isNull {
			werr = errNull
		}
		if (err == nil) != (werr == nil) {
			t.Fatalf("we say %v, encoding/json says %v", err, werr)
		}
		if err != nil {
			want = leading(data)
		}
		if len(elems) != len(want) {
			t.Fatalf("%d elements, want %d", len(elems), len(want))
		}
		for i, e := range elems {
			if !bytes.Equal(data[e[0]:e[1]], want[i]) {
				t.Fatalf("element %d: %q, want %q", i, data[e[0]:e[1]], want[i])
			}
			var m map[string]any
			_ = json.Unmarshal(want[i], &m)
			if read[i] != (m["read"] == true) {
				t.Fatalf("element %d: read %v in %q", i, read[i], want[i])
			}
		}
		// A repair is always valid and keeps every leading element.
		if err != nil {
			var list []json.RawMessage
			if err := json.Unmarshal(mailbox.Mend(bytes.Clone(data)), &list); err != nil || len(list) != len(want) {
				t.Fatalf("mended %q: %d elements, %v", mailbox.Mend(data), len(list), err)
			}
		}
	})
}

var errNull = &json.SyntaxError{}

// leading returns the complete elements at the beginning of a broken array, as
// encoding/json sees them. A number at the very end of a broken text counts: it is
// complete as far as it goes.
func leading(data []byte) []json.RawMessage {
	dec := json.NewDecoder(bytes.NewReader(data))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('[') {
		return nil
	}
	var list []json.RawMessage
	for dec.More() {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			break
		}
		list = append(list, raw)
	}
	return list
}

// Marking changes the read flags of the entries it means and no other byte;
// pruning removes exactly them.
func FuzzMark(f *testing.F) {
	for _, s := range []string{"[]", "[1,2,3]", "[" + e1 + " , " + e2 + "]", `[{"read":true},{"read":false,"x":{"read":1}},{},{"a":1}]`, "[ {\n \"a\" : 1\n} ]"} {
		f.Add([]byte(s), uint16(0xffff))
		f.Add([]byte(s), uint16(2))
	}
	f.Fuzz(func(t *testing.T, data []byte, mask uint16) {
		elems, read, err := mailbox.Scan(data)
		if err != nil || len(data) > 10_000 {
			return
		}
		var at []int
		marked := map[int]bool{}
		for i := range elems {
			if mask>>(i%16)&1 == 1 {
				at, marked[i] = append(at, i), true
			}
		}
		before := rawList(t, data)
		kept := mailbox.Mark(bytes.Clone(data), mailbox.Keep, at...)
		after := rawList(t, kept)
		if len(after) != len(before) {
			t.Fatalf("%d entries became %d", len(before), len(after))
		}
		for i := range before {
			if !marked[i] || read[i] || before[i][0] != '{' {
				if !bytes.Equal(before[i], after[i]) {
					t.Fatalf("entry %d changed: %q to %q", i, before[i], after[i])
				}
				continue
			}
			var was, is map[string]json.RawMessage
			testenv.Must(t, json.Unmarshal(before[i], &was))
			testenv.Must(t, json.Unmarshal(after[i], &is))
			if string(is["read"]) != "true" {
				t.Fatalf("entry %d is not read: %q", i, after[i])
			}
			delete(was, "read")
			delete(is, "read")
			if !reflect.DeepEqual(was, is) {
				t.Fatalf("entry %d: more than read changed: %q to %q", i, before[i], after[i])
			}
		}
		// The bytes between the entries stay.
		if a, b := gaps(t, data), gaps(t, kept); !bytes.Equal(a, b) {
			t.Fatalf("the space between entries changed: %q to %q", a, b)
		}
		// An entry that is not marked is never removed, and an array without entries is [].
		pruned := mailbox.Mark(bytes.Clone(data), mailbox.Prune, at...)
		left := map[string]int{}
		for _, raw := range rawList(t, pruned) {
			left[string(raw)]++
		}
		for i, raw := range before {
			if marked[i] || read[i] {
				continue
			}
			if left[string(raw)]--; left[string(raw)] < 0 {
				t.Fatalf("entry %d is gone: %q", i, raw)
			}
		}
		if len(at) == len(elems) && len(at) > 0 && string(pruned) != "[]" {
			t.Fatalf("an empty mailbox is %q", pruned)
		}
	})
}

func rawList(t *testing.T, data []byte) []json.RawMessage {
	t.Helper()
	elems, _, err := mailbox.Scan(data)
	if err != nil {
		t.Fatalf("%q: %v", data, err)
	}
	var list []json.RawMessage
	for _, e := range elems {
		list = append(list, data[e[0]:e[1]])
	}
	return list
}

func gaps(t *testing.T, data []byte) []byte {
	elems, _, err := mailbox.Scan(data)
	testenv.Must(t, err)
	var out []byte
	at := 0
	for _, e := range elems {
		out = append(append(out, data[at:e[0]]...), '|')
		at = e[1]
	}
	return append(out, data[at:]...)
}

// FuzzRescan: a scan that continues from an earlier scan has the result of a scan of all bytes.
func FuzzRescan(f *testing.F) {
	f.Add([]byte("["+e1+"]"), []byte("["+e1+","+e2+"]"))
	f.Add([]byte("[1]"), []byte("[12]"))
	f.Add([]byte("[1 ]"), []byte("[1 2]"))
	f.Add([]byte("[1,2,3]"), []byte("[1,2"))
	f.Add([]byte("[1,2,3]"), []byte("[1,2,4]"))
	f.Add([]byte("[]"), []byte("[1]"))
	f.Fuzz(func(t *testing.T, old, data []byte) {
		elems, read, err := mailbox.Scan(data)
		elems2, read2, err2 := mailbox.Rescan(old, data)
		if !reflect.DeepEqual(elems, elems2) || !reflect.DeepEqual(read, read2) || (err == nil) != (err2 == nil) {
			t.Fatalf("from %q: %v %v, from nothing: %v %v", old, elems2, err2, elems, err)
		}
	})
}
