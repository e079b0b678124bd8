package control_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/machine"
	"waggle/policy"
	"waggle/record"
)

// TestUnknownSum: a request of a later program, with an unknown kind of sum, is refused: it is
// never folded with a sum that does not cover it, and has no field that its sum does not cover.
func TestUnknownSum(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(map[string]any)
		future bool
	}{
		{"a later sum", func(a map[string]any) { a["n"] = 4 }, true},
		{"the sum of a question", func(a map[string]any) { a["n"] = 3 }, false},
		{"no sum that there is", func(a map[string]any) { a["n"] = -1 }, false},
		{"1 spelled out", func(a map[string]any) { a["n"] = 1 }, false},
		{"unbound stdin", func(a map[string]any) { delete(a, "n"); a["stdin"] = "x" }, false},
	} {
		w, m := working(t, record.PolicySet{}, false)
		k := m.ask(tool, bash)
		w.round()
		req := w.request(k)
		seen := record.Seen{Entry: "e#1", Instance: k.Instance, Ref: 99, Kind: k.Kind, ID: "other", Digest: req.Digest, Ask: &req.Ask}
		raw, err := json.Marshal(seen)
		testenv.Must(t, err)
		var body map[string]any
		testenv.Must(t, json.Unmarshal(raw, &body))
		c.change(body["ask"].(map[string]any))
		raw, err = json.Marshal(body)
		testenv.Must(t, err)
		err = w.l.Apply(recordOf(t, 99, record.KindSeen, w.lead(), json.RawMessage(raw)))
		var future *journal.FutureError
		if err == nil || errors.As(err, &future) != c.future {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// askOlder asks as an older program did, whose sum bound less.
func (m *member) askOlder(a record.Ask) record.Key {
	m.t.Helper()
	var k record.Key
	m.do(func() (ds []journal.Draft, err error) {
		k, ds, err = m.w.Ask(tool, a, m.lead, m.mint())
		if err != nil {
			return nil, err
		}
		b := ds[0].Body.(record.Asked)
		b.Ask.N, b.Ask.Bound = 0, record.Bound{}
		b.Digest = record.DigestOf(uid, k, b.Ask)
		ds[0].Body = b
		return ds, nil
	})
	return k
}

// TestOlderSumIsClosed: system closes the request of an older program, and it is asked again. An
// allow of it starts no call, a denial stays in force, and a call that ran is not run again.
func TestOlderSumIsClosed(t *testing.T) {
	w, m := working(t, record.PolicySet{}, false)
	cmd := func(c string) record.Ask {
		return record.Ask{Tool: "Bash", Input: `{"command":"` + c + `"}`, Cwd: "/work"}
	}
	open, granted, denied, ran, late := m.askOlder(cmd("open")), m.askOlder(cmd("granted")), m.askOlder(cmd("denied")), m.askOlder(cmd("ran")), m.askOlder(cmd("late"))
	for _, k := range []record.Key{granted, denied, ran} {
		w.round()
		w.decide(verdict(w.request(k), k != denied), operator)
	}
	w.round()
	testenv.Must(t, m.start(ran))
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
	if c, _ := m.w.Call(late); c.Answer == nil || c.Answer.Leader == 0 || c.Answer.Decision != record.DecisionAllow {
		t.Errorf("the decision was not delivered: %+v", c.Answer)
	}
	supersede()
	if m.w.Older() {
		t.Error("something older is left")
	}
	w.round()
	if r := w.request(open); r.State != machine.RequestClosed || r.Closed != "superseded" || r.Decided != nil {
		t.Errorf("open: %+v", r)
	}
	for _, k := range []record.Key{granted, late} {
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
	for k, want := range map[record.Key]bool{open: false, granted: false, late: false, denied: true, ran: true} {
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
	w, m := working(t, record.PolicySet{}, false)
	a := bash
	a.Held, a.Program = true, "/bin/sh"
	k := m.ask(tool, a)
	w.answered(k, true)
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
	if r := w.request(k); r.State != machine.RequestClosed || w.l.Divergence != nil {
		t.Errorf("%+v, %+v", r, w.l.Divergence)
	}
	m.open() // the records fold again
	refused[*control.GrantError](t, m.start(k), "not allowed")
	// A forged answer cannot revoke.
	_, err := m.try(func() ([]journal.Draft, error) {
		return []journal.Draft{{Kind: record.KindAnswered, Must: true, Body: record.Answered{Key: k, Digest: w.request(k).Digest,
			Decision: record.DecisionAllow, By: policy.RoleSystem, Revoked: true}}}, nil
	})
	if err == nil {
		t.Error("an allow was revoked to")
	}
}

// TestFoundSinceThen: a call that ran is not run again when its script has changed since; a request
// without a waiting session whose script has changed is closed by the request that replaces it.
func TestFoundSinceThen(t *testing.T) {
	w, m := working(t, record.PolicySet{}, false)
	script := func(cmd, sum string) record.Ask {
		return record.Ask{Tool: "Bash", Input: `{"command":"` + cmd + `"}`, Cwd: "/work",
			Bound: record.Bound{Held: true, Program: "/bin/sh", Scripts: []record.Script{{Path: "/work/x.sh", SHA256: sum}}}}
	}
	ran, open := m.ask(tool, script("sh x.sh", "one")), m.ask(tool, script("sh y.sh", "one"))
	w.answered(ran, true)
	testenv.Must(t, m.start(ran))
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
	if r := w.request(open); k == open || r.State != machine.RequestClosed || r.Closed != "superseded" || w.request(k).State != machine.RequestPending {
		t.Errorf("the question that was: %+v; that is: %+v", r, w.request(k))
	}
}
