package process_test

import (
	"testing"
	"time"

	"waggle/control"
	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/process"
	"waggle/record"
)

// TestTeller: a Reporter reports each event in a team once, and none that happened before.
func TestTeller(t *testing.T) {
	t.Parallel()
	r, _ := rig(t)
	o := process.Of(r.Op)
	r.Asks("ann", operatortest.Bash("make"))
	s := r.Until("ann asks", func(l *control.Leader) bool { return len(l.Pending()) == 1 })
	said, late := &operatortest.Heard{}, &operatortest.Heard{}
	var died []string
	first, second := o.Reporter(s, said.Note), o.Reporter(s, late.Note)
	first.Died = func(name string) { died = append(died, name) }
	first.Report()
	second.Mute()
	if said.Of("asked", "Bash") != 1 || len(late.All()) != 0 {
		t.Errorf("told %+v, and %+v", said.All(), late.All())
	}
	q := s.Lead.Pending()[0]
	testenv.Value(decide.Of(r.Op).Decide(t.Context(), "api", []decide.Answer{{ID: string(q.ID), Reason: "not now", Via: "deny"}}))(t)
	again := time.Now().Add(time.Hour)
	bob, eve := r.Enlist(s, "bob"), r.Enlist(s, "eve")
	r.Runs(s, bob, gone(t))
	r.Runs(s, eve, gone(t))
	operatortest.Append(t, r.Op, s,
		journal.Draft{Kind: record.KindDied, Must: true, Body: record.Died{Instance: bob.Instance, Epoch: 1, Detail: "signal killed", Again: &again}},
		journal.Draft{Kind: record.KindUnverified, Must: true, Body: record.Unverified{Entry: "x", Box: "team-lead", From: "mallory", Kind: "idle_notification", ID: "7", Why: "no record"}},
		left(eve.Instance, record.LeftDied))
	for range 2 {
		first.Report()
		second.Report()
	}
	for _, h := range []*operatortest.Heard{said, late} {
		for what, part := range map[string]string{"decided": "deny by operator: not now", "unverified": "idle_notification 7: no record", "died": "signal killed; it is started again in ", "left": "died"} {
			if h.Of(what, part) != 1 {
				t.Errorf("%s %q is not told once: %+v", what, part, h.All())
			}
		}
	}
	if late.Of("asked", "") != 0 {
		t.Errorf("told what was over: %+v", late.All())
	}
	if len(died) == 0 || died[0] != "eve" {
		t.Errorf("died: %q", died)
	}
	first.Once("key", operator.Note{What: "mine"})
	first.Once("key", operator.Note{What: "mine"})
	if said.Of("mine", "") != 1 {
		t.Errorf("told %+v", said.All())
	}
	silent := o.Reporter(s, nil)
	silent.Note(operator.Note{What: "x"}) // nobody is told
	silent.Report()
}
