package control_test

import (
	"context"
	"testing"

	"waggle/control"
	"waggle/journal"
	"waggle/machine"
	"waggle/policy"
	"waggle/record"
)

// TestEndedUnopened: a journal that ends a team which it never opened makes a move that
// the table of the team does not have.
func TestEndedUnopened(t *testing.T) {
	l := control.NewLeader(nil)
	err := l.Apply(recordOf(t, 1, record.KindEnded, operator, record.Ended{How: "run"}))
	if err == nil {
		t.Errorf("it was taken: the team is %q", l.State())
	}
}

// TestSnapshotNegative: a number below zero comes out of a snapshot as it went in.
func TestSnapshotNegative(t *testing.T) {
	w, _ := working(t, record.PolicySet{}, false)
	lm, ok := w.l.Member("ada")
	if !ok || lm.Process == nil {
		t.Fatal("no process")
	}
	for _, pid := range []int{-1, -2, -4711, 0, 1, 4711} {
		lm.Process.ID.PID = pid
		if got, _ := keptLeader(t, w.l).Member("ada"); got.Process.ID.PID != pid {
			t.Errorf("%d became %d", pid, got.Process.ID.PID)
		}
	}
}

// TestSupersededStart: once a newer process of the member has opened its journal, an
// older one starts no call, also while the leader's journal still names the older one.
func TestSupersededStart(t *testing.T) {
	_, m := working(t, record.PolicySet{Policy: policy.Policy{Allow: policy.MustRules("Bash")}}, false)
	k, old := m.ask(tool, bash), m.epoch
	_, err := m.j.Append(context.Background(), journal.Writer{Instance: string(m.instance), Epoch: old + 1}, func() ([]journal.Draft, error) {
		return m.w.Open(record.Opened{Team: "api", UID: uid, Instance: m.instance, Name: m.name, Epoch: old + 1})
	})
	m.must(err)
	if lm, _ := m.lead.ByInstance(m.instance); lm.Process.Epoch != old {
		t.Fatalf("the leader's journal names epoch %d", lm.Process.Epoch)
	}
	_, err = m.w.Start(k, old, m.lead, m.now)
	refused[*control.GrantError](t, err, control.ErrSuperseded.Error())
}

// TestNoAllowForTheEnded: a request of a member that has ended cannot be allowed.
func TestNoAllowForTheEnded(t *testing.T) {
	w, m, r := asked(t, record.PolicySet{}, tool, bash)
	w.append(w.lead(), record.KindLeft, record.Left{Instance: m.instance, How: record.LeftStopped})
	if r.State != machine.RequestPending {
		t.Fatalf("the question is %s", r.State)
	}
	out, err := w.l.Decide(verdict(r, true), operator, w.mint())
	if refused[*control.RefusedError](t, out.Refusal, "has ended"); err != nil || out.Changed || len(out.Drafts) > 0 {
		t.Errorf("an allow: %+v, %v", out, err)
	}
	if out, err := w.l.Decide(verdict(r, false), operator, w.mint()); err != nil || !out.Changed {
		t.Errorf("a deny: %+v, %v", out, err)
	}
}

// TestNoPolicyNoDecision: a team without a recorded policy decides nothing.
func TestNoPolicyNoDecision(t *testing.T) {
	w, _, r := asked(t, record.PolicySet{}, tool, bash)
	w.l.Policy.Policy.Version = 0
	out, err := w.l.Decide(verdict(r, true), operator, w.mint())
	if refused[*control.RefusedError](t, out.Refusal, "no policy on record"); err != nil || out.Changed {
		t.Errorf("%+v, %v", out, err)
	}
}
