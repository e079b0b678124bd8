package leader_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/machine"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
	"waggle/spawn/spawntest"
)

// inside starts a member inside this program, as its record says.
func (r *rig) inside(name protocol.MemberName, b spawn.Backend) *spawn.Process {
	r.t.Helper()
	m := r.member[name]
	p, err := r.l.Start(r.t.Context(), m.inst, b, spawntest.Spec(r.t, spawntest.ModeBlock))
	testenv.Must(r.t, err)
	r.t.Cleanup(func() { spawntest.EndProcess(r.t, p) })
	r.records(vital(record.KindProcess, record.Process{Instance: m.inst, Epoch: 2, ID: p.Identity()}))
	return p
}

// pair is a rig with ann and bob inside this program.
func pair(t *testing.T) (r *rig, ann, bob *spawn.Process) {
	t.Helper()
	r = newRig(t, "ann", "bob")
	b := spawn.InProcess(spawntest.Inside)
	ann, bob = r.inside("ann", b), r.inside("bob", b)
	r.pass()
	return r, ann, bob
}

func ended(p *spawn.Process) bool {
	select {
	case <-p.Done():
		return true
	default:
		return false
	}
}

// Stopping a member that runs in the leader's process ends neither the leader nor its other
// members.
func TestStopInProcess(t *testing.T) {
	r, ann, bob := pair(t)
	rung, err := r.l.Stop(t.Context(), "ann", spawn.Grace{Term: 10 * time.Second})
	if err != nil || rung != spawn.RungTerm {
		t.Errorf("stop: %q, %v", rung, err)
	}
	spawntest.Wait(t, ann)
	if ended(bob) {
		t.Error("bob ended too")
	}
	r.pass()
	if got := r.view(); strings.Join(r.gone, ",") != "ann stopped" || len(got.Live()) != 1 {
		t.Errorf("gone: %q, %d live", r.gone, len(got.Live()))
	}
}

// When another process stops a member that runs in the leader's process, the leader ends it: no
// other process can.
func TestStopInProcessFromOutside(t *testing.T) {
	r, ann, bob := pair(t)
	r.operate(func(l *control.Leader) ([]journal.Draft, error) {
		return l.Stop(membership(l, r.member["ann"].inst), "the operator stops it"), nil
	})
	r.pass()
	spawntest.Wait(t, ann)
	r.pass()
	if m := r.memberNow(r.member["ann"].inst); m.Left == nil || m.Left.How != record.LeftStopped || m.Left.Detail != spawn.RungTerm {
		t.Errorf("left as %+v", m.Left)
	}
	if ended(bob) {
		t.Error("bob ended too")
	}
}

// A panic of a member ends that member and no other: it is recorded with its text, and its open
// request can no longer be allowed.
func TestPanicInProcess(t *testing.T) {
	r := newRig(t, "ann", "bob")
	fall := make(chan struct{})
	ann := r.inside("ann", spawn.InProcess(func(ctx context.Context, _ spawn.Spec, _ io.Writer) spawn.Exit {
		select {
		case <-fall:
		case <-ctx.Done():
		}
		panic("out of luck")
	}))
	r.inside("bob", spawn.InProcess(spawntest.Inside))
	r.assign("ann", "1")
	r.pass()
	r.take("ann")
	key := r.asks("ann", "make")
	r.pass()
	req, ok := r.view().Request(key)
	if !ok || req.State != machine.RequestPending {
		t.Fatalf("asked: %+v", req)
	}
	close(fall)
	spawntest.Wait(t, ann)
	r.pass()
	m, _ := r.view().Member("ann")
	if m.Left == nil || m.Left.How != record.LeftDied || m.Left.Detail != "it panicked: out of luck" {
		t.Fatalf("ann left as %+v", m.Left)
	}
	r.pass()
	if len(r.view().Live()) != 1 {
		t.Error("bob went with it")
	}
	out, err := r.decide(key, true)
	var refused *control.RefusedError
	if now, _ := r.view().Request(key); err != nil || !errors.As(out.Refusal, &refused) || now.Decided != nil {
		t.Errorf("allowing what a dead member asked: %+v, %v", out, err)
	}
}

// A leader that closes ends the members in its process, in order, and records none as left: they
// can be restarted.
func TestCloseInProcess(t *testing.T) {
	r, ann, bob := pair(t)
	testenv.Must(t, r.l.Close())
	for _, p := range []*spawn.Process{ann, bob} {
		if !ended(p) {
			t.Error("one lives on")
		}
	}
	if len(r.view().Live()) != 2 {
		t.Error("they were let go")
	}
	if err := r.l.Close(); err != nil {
		t.Errorf("again: %v", err)
	}
}
