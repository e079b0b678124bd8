package leader_test

import (
	"testing"
	"time"

	"waggle/control"
	"waggle/journal"
	"waggle/machine"
	"waggle/policy"
	"waggle/record"
)

// sleeps lets the machine be suspended.
func (r *rig) sleeps(d time.Duration) { r.now, r.asleep = r.now.Add(d), r.asleep+d }

// passAfter is a pass after a time awake.
func (r *rig) passAfter(d time.Duration) {
	r.t.Helper()
	r.tick(d)
	r.pass()
}

func (r *rig) deadline(d time.Duration) {
	r.t.Helper()
	r.records(vital(record.KindPolicy, record.PolicySet{Policy: policy.Policy{Version: 2, Mode: policy.ModeDefault}, By: policy.RoleOperator, Deadline: d.Milliseconds()}))
}

// stateOf is the state of a request.
func (r *rig) stateOf(k record.Key) (state machine.State) {
	r.l.View(func(l *control.Leader) {
		if req, ok := l.Request(k); ok {
			state = req.State
		}
	})
	return state
}

// TestSleepIsNoDelay: a request that was open while the machine was suspended has its whole time left; one
// that was asked before, and is seen afterwards, too. Time awake counts as ever, and two processes that
// record one sleep prolong nothing twice.
func TestSleepIsNoDelay(t *testing.T) {
	r := newRig(t, "ann")
	r.deadline(10 * time.Minute)
	r.assign("ann", "1")
	r.take("ann")
	seen := r.asks("ann", "seen before")
	r.pass()
	r.passAfter(4 * time.Minute)
	unseen := r.asks("ann", "seen after")
	r.sleeps(3 * time.Hour)
	r.pass()
	for _, k := range []record.Key{seen, unseen} {
		if s := r.stateOf(k); s != machine.RequestPending {
			t.Fatalf("%s is %s after the sleep", k.ID, s)
		}
	}
	r.operate(func(l *control.Leader) ([]journal.Draft, error) { return l.Sleep(3 * time.Hour), nil }) // another process that was awakened
	r.passAfter(5 * time.Minute)
	if s := r.stateOf(seen); s != machine.RequestPending {
		t.Errorf("%s after nine minutes awake", s)
	}
	r.passAfter(time.Minute)
	if s := r.stateOf(seen); s == machine.RequestPending {
		t.Error("it is open after ten minutes awake")
	}
	if s := r.stateOf(unseen); s != machine.RequestPending {
		t.Errorf("the later one is %s after six minutes awake", s)
	}
	r.passAfter(4 * time.Minute)
	if s := r.stateOf(unseen); s == machine.RequestPending {
		t.Error("the later one is open after ten minutes awake")
	}
}

// TestSleepIsNoRecovery: deaths before a sleep count for the limit of restarts as if there had been none.
func TestSleepIsNoRecovery(t *testing.T) {
	r := newRig(t, "ann")
	r.dismiss, r.supervise = false, true
	r.open()
	i := r.restarts(record.Restart{Most: 1, Window: 600_000, First: 1000, Longest: 3000})
	r.dead[100] = true
	r.pass()
	r.sleeps(time.Hour)
	r.pass()
	r.starts(i, 2, 101)
	r.dead[101] = true
	r.pass()
	r.pass()
	if m := r.memberNow(i); m.Died == nil || !m.Died.GaveUp || len(m.Deaths) != 2 {
		t.Errorf("%+v, deaths %v", m.Died, m.Deaths)
	}
}
