package control_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"waggle/control"
	"waggle/journal"
	"waggle/policy"
)

// TestEndedUnopened: a journal that ends a team which it never opened makes a move that
// the table of the team does not have.
func TestEndedUnopened(t *testing.T) {
	l := control.NewLeader(nil)
	err := l.Apply(record(t, 1, control.RecEnded, operator, control.Ended{How: "run"}))
	if err == nil {
		t.Errorf("it was taken: the team is %q", l.State())
	}
}

// TestSnapshotNegative: a number below zero comes out of a snapshot as it went in.
func TestSnapshotNegative(t *testing.T) {
	w, _ := working(t, control.PolicySet{}, false)
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
	_, m := working(t, control.PolicySet{Policy: policy.Policy{Allow: policy.MustRules("Bash")}}, false)
	k, old := m.ask(tool, bash), m.epoch
	_, err := m.j.Append(context.Background(), journal.Writer{Instance: string(m.instance), Epoch: old + 1}, func() ([]journal.Draft, error) {
		return m.w.Open(control.Opened{Team: "api", UID: uid, Instance: m.instance, Name: m.name, Epoch: old + 1})
	})
	m.must(err)
	if lm, _ := m.lead.ByInstance(m.instance); lm.Process.Epoch != old {
		t.Fatalf("the leader's journal names epoch %d", lm.Process.Epoch)
	}
	_, err = m.w.Start(k, old, m.lead, m.now)
	var refusal *control.GrantError
	if !errors.As(err, &refusal) || !strings.Contains(err.Error(), control.ErrSuperseded.Error()) {
		t.Errorf("got %v, want that another process has taken over", err)
	}
}
