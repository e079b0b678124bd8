package record_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"waggle/internal/test/testenv"
	_ "waggle/internal/test/testenv/seeded"
	"waggle/record"

	"pgregory.net/rapid"
)

// flat lists every field that the sum of N = 2 binds, lists by their lengths and
// elements, so that two asks are the same exactly when their flat forms are.
func flat(a record.Ask) []string {
	b, err := json.Marshal([]any{a.Tool, a.Cwd, a.Input, a.Stdin, a.Env, a.Held, a.Program, a.Words, a.Scripts, a.Paths})
	if err != nil {
		panic(err)
	}
	return []string{strings.ReplaceAll(string(b), "null", "[]")}
}

func drawBound(t *rapid.T, name string) record.Ask {
	s := rapid.OneOf(rapid.SampledFrom([]string{"", "a", "b", "ab", "1", "0", "true"}), rapid.StringN(0, 2, 4))
	list := func() int { return rapid.IntRange(0, 2).Draw(t, name) }
	a := record.Ask{N: 2, Tool: s.Draw(t, name), Cwd: s.Draw(t, name), Input: s.Draw(t, name)}
	a.Stdin, a.Held, a.Program = s.Draw(t, name), rapid.Bool().Draw(t, name), s.Draw(t, name)
	for range list() {
		a.Env = append(a.Env, s.Draw(t, name))
	}
	for range list() {
		a.Words = append(a.Words, record.Resolved{Name: s.Draw(t, name), Path: s.Draw(t, name)})
	}
	for range list() {
		a.Scripts = append(a.Scripts, record.Script{Path: s.Draw(t, name), SHA256: s.Draw(t, name)})
	}
	for range list() {
		a.Paths = append(a.Paths, record.RealPath{Spelled: s.Draw(t, name), Real: s.Draw(t, name)})
	}
	return a
}

// bindings are the strings of an ask, by reference, in the order of the sum.
func bindings(a *record.Ask) []*string {
	ps := []*string{&a.Tool, &a.Cwd, &a.Input, &a.Stdin}
	for i := range a.Env {
		ps = append(ps, &a.Env[i])
	}
	ps = append(ps, &a.Program)
	for i := range a.Words {
		ps = append(ps, &a.Words[i].Name, &a.Words[i].Path)
	}
	for i := range a.Scripts {
		ps = append(ps, &a.Scripts[i].Path, &a.Scripts[i].SHA256)
	}
	for i := range a.Paths {
		ps = append(ps, &a.Paths[i].Spelled, &a.Paths[i].Real)
	}
	return ps
}

func TestSumOfEveryBoundField(t *testing.T) {
	k := record.Key{Instance: "i", Kind: tool, ID: "p"}
	sum := func(a record.Ask) record.Digest { return record.DigestOf(uid, k, a) }
	rapid.Check(t, func(t *rapid.T) {
		a := drawBound(t, "one")
		b := drawBound(t, "other")
		if (sum(a) == sum(b)) != reflect.DeepEqual(flat(a), flat(b)) {
			t.Fatalf("%q and %q", flat(a), flat(b))
		}
		// One byte moves from the end of a field to the beginning of the next.
		var c record.Ask
		raw, err := json.Marshal(a)
		if err == nil {
			err = json.Unmarshal(raw, &c)
		}
		testenv.Must(t, err)
		ps := bindings(&c)
		i := rapid.IntRange(0, len(ps)-2).Draw(t, "field")
		if n := len(*ps[i]); n > 0 {
			*ps[i+1] = (*ps[i])[n-1:] + *ps[i+1]
			*ps[i] = (*ps[i])[:n-1]
			if sum(a) == sum(c) && !reflect.DeepEqual(flat(a), flat(c)) {
				t.Fatalf("%q and %q", flat(a), flat(c))
			}
		}
		// Only one field is longer.
		was := sum(c)
		if *ps[i] += "x"; sum(c) == was {
			t.Fatalf("the sum does not hold all of %q", flat(c))
		}
	})
	one, two := record.Ask{Tool: "Bash", Cwd: "/", Input: "{}"}, record.Ask{N: 2, Tool: "Bash", Cwd: "/", Input: "{}"}
	if sum(one) == sum(two) {
		t.Error("the sums of two N are one")
	}
	if d := sum(record.Ask{N: 4}); d != "" {
		t.Errorf("an unknown N has the sum %s", d)
	}
	// A second reading, in another language: every length as 8 bytes, then the field.
	const want = "82d90dac1e47b91c44228aac29bdd4dd"
	got := string(sum(record.Ask{N: 2, Tool: "Bash", Cwd: "/work", Input: `{"command":"sh","stdin":"touch x"}`, Bound: record.Bound{
		Stdin: "touch x", Env: []string{"A=1"}, Held: true, Program: "/bin/sh",
		Words: []record.Resolved{{Name: "sh", Path: "/bin/sh"}}, Scripts: []record.Script{{Path: "/x", SHA256: "00"}}, Paths: []record.RealPath{{Spelled: "/a", Real: "/b"}}}}))
	if got[:32] != want {
		t.Errorf("%s, want %s…", got, want)
	}
}

// TestStdinOfChangedInput: standard input that the approver's input lacks is not read.
func TestStdinOfChangedInput(t *testing.T) {
	a := record.Ask{N: 2, Tool: "Bash", Input: `{"command":"sh","stdin":"touch x"}`, Bound: record.Bound{Stdin: "touch x", Held: true, Program: "/bin/sh", Env: []string{"A=1"}}}
	for in, want := range map[string]string{`{"command":"sh"}`: "", `{"command":"cat","stdin":"y"}`: "y", `{"command":"cat","Stdin":"y"}`: ""} {
		if got := a.With(in); got.Stdin != want || got.Input != in || got.Program != "" || !got.Held || len(got.Env) != 1 {
			t.Errorf("%s: %+v", in, got)
		}
	}
	a.N = 0
	if got := a.With(`{"stdin":"y"}`); got.Stdin != "touch x" {
		t.Errorf("an older request has %q", got.Stdin)
	}
}
