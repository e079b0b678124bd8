package control_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"waggle/control"
	"waggle/journal"
	"waggle/policy"
)

// flat lists every field that the sum of N = 2 binds, lists by their lengths and
// elements, so that two asks are the same exactly when their flat forms are.
func flat(a control.Ask) []string {
	b, err := json.Marshal([]any{a.Tool, a.Cwd, a.Input, a.Stdin, a.Env, a.Held, a.Program, a.Words, a.Scripts, a.Paths})
	if err != nil {
		panic(err)
	}
	return []string{strings.ReplaceAll(string(b), "null", "[]")}
}

func drawBound(t *rapid.T, name string) control.Ask {
	s := rapid.OneOf(rapid.SampledFrom([]string{"", "a", "b", "ab", "1", "0", "true"}), rapid.StringN(0, 2, 4))
	list := func() int { return rapid.IntRange(0, 2).Draw(t, name) }
	a := control.Ask{N: 2, Tool: s.Draw(t, name), Cwd: s.Draw(t, name), Input: s.Draw(t, name)}
	a.Stdin, a.Held, a.Program = s.Draw(t, name), rapid.Bool().Draw(t, name), s.Draw(t, name)
	for range list() {
		a.Env = append(a.Env, s.Draw(t, name))
	}
	for range list() {
		a.Words = append(a.Words, control.Resolved{Name: s.Draw(t, name), Path: s.Draw(t, name)})
	}
	for range list() {
		a.Scripts = append(a.Scripts, control.Script{Path: s.Draw(t, name), SHA256: s.Draw(t, name)})
	}
	for range list() {
		a.Paths = append(a.Paths, control.RealPath{Spelled: s.Draw(t, name), Real: s.Draw(t, name)})
	}
	return a
}

// bindings are the strings of an ask, by reference, in the order of the sum.
func bindings(a *control.Ask) []*string {
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
	k := control.Key{Instance: "i", Kind: tool, ID: "p"}
	sum := func(a control.Ask) control.Digest { return control.DigestOf(uid, k, a) }
	rapid.Check(t, func(t *rapid.T) {
		a := drawBound(t, "one")
		b := drawBound(t, "other")
		if (sum(a) == sum(b)) != reflect.DeepEqual(flat(a), flat(b)) {
			t.Fatalf("%q and %q", flat(a), flat(b))
		}
		// One byte moves from the end of a field to the beginning of the next.
		var c control.Ask
		raw, err := json.Marshal(a)
		if err == nil {
			err = json.Unmarshal(raw, &c)
		}
		if err != nil {
			t.Fatal(err)
		}
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
	one, two := control.Ask{Tool: "Bash", Cwd: "/", Input: "{}"}, control.Ask{N: 2, Tool: "Bash", Cwd: "/", Input: "{}"}
	if sum(one) == sum(two) {
		t.Error("the sums of two N are one")
	}
	if d := sum(control.Ask{N: 3}); d != "" {
		t.Errorf("an unknown N has the sum %s", d)
	}
	// A second reading, in another language: every length as 8 bytes, then the field.
	const want = "82d90dac1e47b91c44228aac29bdd4dd"
	got := string(sum(control.Ask{N: 2, Tool: "Bash", Cwd: "/work", Input: `{"command":"sh","stdin":"touch x"}`, Bound: control.Bound{
		Stdin: "touch x", Env: []string{"A=1"}, Held: true, Program: "/bin/sh",
		Words: []control.Resolved{{Name: "sh", Path: "/bin/sh"}}, Scripts: []control.Script{{Path: "/x", SHA256: "00"}}, Paths: []control.RealPath{{Spelled: "/a", Real: "/b"}}}}))
	if got[:32] != want {
		t.Errorf("%s, want %s…", got, want)
	}
}

// TestUnknownSum: a request of a later program, with an unknown kind of sum, is refused: it is
// never folded with a sum that does not cover it, and has no field that its sum does not cover.
func TestUnknownSum(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(map[string]any)
		future bool
	}{
		{"a later sum", func(a map[string]any) { a["n"] = 3 }, true},
		{"no sum that there is", func(a map[string]any) { a["n"] = -1 }, false},
		{"1 spelled out", func(a map[string]any) { a["n"] = 1 }, false},
		{"unbound stdin", func(a map[string]any) { delete(a, "n"); a["stdin"] = "x" }, false},
	} {
		w, m := working(t, control.PolicySet{}, false)
		k := m.ask(tool, bash)
		w.round()
		req := w.request(k)
		seen := control.Seen{Entry: "e#1", Instance: k.Instance, Ref: 99, Kind: k.Kind, ID: "other", Digest: req.Digest, Ask: &req.Ask}
		raw, err := json.Marshal(seen)
		if err != nil {
			t.Fatal(err)
		}
		var body map[string]any
		if err := json.Unmarshal(raw, &body); err != nil {
			t.Fatal(err)
		}
		c.change(body["ask"].(map[string]any))
		raw, err = json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		err = w.l.Apply(record(t, 99, control.RecSeen, w.lead(), json.RawMessage(raw)))
		var future *journal.FutureError
		if err == nil || errors.As(err, &future) != c.future {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// askOlder asks as an older program did, whose sum bound less.
func (m *member) askOlder(a control.Ask) control.Key {
	m.t.Helper()
	var k control.Key
	m.do(func() (ds []journal.Draft, err error) {
		k, ds, err = m.w.Ask(tool, a, m.lead, m.mint())
		if err != nil {
			return nil, err
		}
		b := ds[0].Body.(control.Asked)
		b.Ask.N, b.Ask.Bound = 0, control.Bound{}
		b.Digest = control.DigestOf(uid, k, b.Ask)
		ds[0].Body = b
		return ds, nil
	})
	return k
}

// TestOlderSumIsClosed: system closes the request of an older program, and it is asked again. An
// allow of it starts no call, a denial stays in force, and a call that ran is not run again.
func TestOlderSumIsClosed(t *testing.T) {
	w, m := working(t, control.PolicySet{}, false)
	cmd := func(c string) control.Ask {
		return control.Ask{Tool: "Bash", Input: `{"command":"` + c + `"}`, Cwd: "/work"}
	}
	open, granted, denied, ran, late := m.askOlder(cmd("open")), m.askOlder(cmd("granted")), m.askOlder(cmd("denied")), m.askOlder(cmd("ran")), m.askOlder(cmd("late"))
	for _, k := range []control.Key{granted, denied, ran} {
		w.round()
		w.decide(verdict(w.request(k), k != denied), operator)
	}
	w.round()
	if err := m.start(ran); err != nil {
		t.Fatal(err)
	}
	m.finish(ran)
	w.round()
	w.decide(verdict(w.request(late), true), operator) // decided, and not with the member
	m.boot()
	supersede := func() { m.do(func() ([]journal.Draft, error) { return m.w.Supersede(m.lead), nil }) }
	if !m.w.Older() {
		t.Fatal("nothing older is found")
	}
	supersede()
	supersede() // it drafts no record
	if c, _ := m.w.Call(late); c.Answer != nil {
		t.Errorf("what is decided was closed before it was delivered: %+v", c.Answer)
	}
	w.round()
	if c, _ := m.w.Call(late); c.Answer == nil || c.Answer.Leader == 0 || c.Answer.Decision != control.DecisionAllow {
		t.Errorf("the decision was not delivered: %+v", c.Answer)
	}
	supersede()
	if m.w.Older() {
		t.Error("something older is left")
	}
	w.round()
	if r := w.request(open); r.State != control.RequestClosed || r.Closed != "superseded" || r.Decided != nil {
		t.Errorf("open: %+v", r)
	}
	for _, k := range []control.Key{granted, late} {
		if err := m.start(k); err == nil {
			t.Errorf("a grant of an older sum was used: %v", k)
		}
		c, _ := m.w.Call(k)
		if n := m.ask(tool, c.Ask); n == k || m.w.Blocking() == nil {
			t.Errorf("%s was not asked again", c.Ask.Input)
		}
	}
	if w.l.Divergence != nil {
		t.Errorf("the journals disagree: %+v", w.l.Divergence)
	}
	for k, want := range map[control.Key]bool{open: false, granted: false, late: false, denied: true, ran: true} {
		c, _ := m.w.Call(k)
		a := c.Ask
		a.Stdin, a.Held, a.Program = "by the new one", true, "/bin/sh"
		a.Input = strings.TrimSuffix(a.Input, "}") + `,"stdin":"by the new one"}`
		if got := m.w.Replay(tool, a, nil); (got != nil && got.Key == k) != want {
			t.Errorf("%s: replayed %v, want %v", a.Input, got, want)
		}
	}
}

// TestRevokedGrant: an allow whose program was replaced is revoked and starts no call, and the same
// call is asked again.
func TestRevokedGrant(t *testing.T) {
	w, m := working(t, control.PolicySet{}, false)
	a := bash
	a.Held, a.Program = true, "/bin/sh"
	k := m.ask(tool, a)
	w.round()
	w.decide(verdict(w.request(k), true), operator)
	w.round()
	revoke := func() []journal.Record {
		return m.do(func() ([]journal.Draft, error) { return m.w.Revoke(k, "changed"), nil })
	}
	if len(revoke()) != 1 || len(revoke()) != 0 {
		t.Error("it is revoked once")
	}
	refused[*control.GrantError](t, m.start(k), "not allowed")
	if n := m.ask(tool, a); n == k {
		t.Error("the grant that was taken back is there")
	}
	w.round()
	if r := w.request(k); r.State != control.RequestClosed || w.l.Divergence != nil {
		t.Errorf("%+v, %+v", r, w.l.Divergence)
	}
	m.open() // the records fold again
	refused[*control.GrantError](t, m.start(k), "not allowed")
	// A forged answer cannot revoke.
	_, err := m.try(func() ([]journal.Draft, error) {
		return []journal.Draft{{Kind: control.RecAnswered, Must: true, Body: control.Answered{Key: k, Digest: w.request(k).Digest,
			Decision: control.DecisionAllow, By: policy.RoleSystem, Revoked: true}}}, nil
	})
	if err == nil {
		t.Error("an allow was revoked to")
	}
}

// TestFoundSinceThen: a call that ran is not run again when its script has changed since; a request
// without a waiting session whose script has changed is closed by the request that replaces it.
func TestFoundSinceThen(t *testing.T) {
	w, m := working(t, control.PolicySet{}, false)
	script := func(cmd, sum string) control.Ask {
		return control.Ask{Tool: "Bash", Input: `{"command":"` + cmd + `"}`, Cwd: "/work",
			Bound: control.Bound{Held: true, Program: "/bin/sh", Scripts: []control.Script{{Path: "/work/x.sh", SHA256: sum}}}}
	}
	ran, open := m.ask(tool, script("sh x.sh", "one")), m.ask(tool, script("sh y.sh", "one"))
	w.round()
	w.decide(verdict(w.request(ran), true), operator)
	w.round()
	if err := m.start(ran); err != nil {
		t.Fatal(err)
	}
	m.finish(ran)
	m.boot()
	if c := m.w.Replay(tool, script("sh x.sh", "two"), nil); c == nil || c.Key != ran {
		t.Errorf("what ran is not found: %v", c)
	}
	if c := m.w.Replay(tool, script("sh z.sh", "one"), nil); c != nil {
		t.Errorf("something else is found: %v", c)
	}
	if k := m.ask(tool, script("sh y.sh", "one")); k != open {
		t.Error("the same question was asked twice")
	}
	m.boot()
	k := m.ask(tool, script("sh y.sh", "two"))
	w.round()
	if r := w.request(open); k == open || r.State != control.RequestClosed || r.Closed != "superseded" || w.request(k).State != control.RequestPending {
		t.Errorf("the question that was: %+v; that is: %+v", r, w.request(k))
	}
}

// TestStdinOfChangedInput: standard input that the approver's input lacks is not read.
func TestStdinOfChangedInput(t *testing.T) {
	a := control.Ask{N: 2, Tool: "Bash", Input: `{"command":"sh","stdin":"touch x"}`, Bound: control.Bound{Stdin: "touch x", Held: true, Program: "/bin/sh", Env: []string{"A=1"}}}
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
