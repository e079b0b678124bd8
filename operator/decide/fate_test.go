package decide_test

import (
	"testing"

	"waggle/control"
	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/operator/decide"
	"waggle/record"
)

// TestFate: what became of a request says who answered it and how, or how it ended.
func TestFate(t *testing.T) {
	t.Parallel()
	o, rig := team(t)
	fate := func(q decide.Request) decide.Fate {
		t.Helper()
		return testenv.Value(o.Fate(t.Context(), q))(t)
	}
	rig.Asks("ann", operatortest.Bash("make"))
	rig.Asks("bob", operatortest.Bash("rm x"))
	rig.Asks("carl", operatortest.Bash("make all"))
	rig.Pending(3)
	qs := testenv.Value(o.Pending(t.Context(), "api", false))(t)
	of := map[string]decide.Request{}
	for _, q := range qs {
		of[q.Member] = q
		if f := fate(q); f != (decide.Fate{}) {
			t.Errorf("an open request: %+v", f)
		}
	}
	testenv.Value(o.Decide(t.Context(), "api", []decide.Answer{{ID: of["ann"].ID, Allow: true, Via: "approve"}, {ID: of["bob"].ID, Via: "deny", Reason: "not today"}}))(t)
	carl := rig.Pending(1)[0]
	rig.Write(journal.Draft{Kind: record.KindClosed, Must: true, Body: record.Closed{Key: &carl.Key, Evidence: record.Withdrawn}})
	rig.Until("closed", func(*control.Leader) bool { return len(rig.State().Lead.Pending()) == 0 })
	for name, want := range map[string]decide.Fate{"ann": {How: "allowed by operator (approve)"}, "bob": {How: "denied by operator (deny)", Said: "not today"},
		"carl": {How: "withdrawn by its asker"}} {
		f := fate(of[name])
		if dated := !f.At.IsZero(); dated != (name != "carl") {
			t.Errorf("%s: at %s", name, f.At)
		}
		if f.How != want.How || f.Said != want.Said {
			t.Errorf("%s: %+v", name, f)
		}
	}
	s := newSessions(t)
	s.ask("s1", "Bash", `{"command":"ls"}`)
	q := s.open()[0]
	if f, err := s.o.Fate(t.Context(), q); err != nil || f != (decide.Fate{}) {
		t.Errorf("%+v, %v", f, err)
	}
	testenv.Value(s.decide(decide.Answer{ID: q.Handle, Allow: true, Via: "approve"}))(t)
	if f, err := s.o.Fate(t.Context(), q); err != nil || f.How != "allowed by operator (approve)" || f.At.IsZero() {
		t.Errorf("%+v, %v", f, err)
	}
}
