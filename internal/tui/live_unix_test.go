//go:build unix

package tui_test

import (
	"context"
	"syscall"
	"testing"
	"time"

	"waggle/internal/operatortest"
	"waggle/internal/testenv"
	"waggle/internal/tui"
	"waggle/journal"
	"waggle/record"
	"waggle/spawn"
)

// TestWatchOfADeadLeader: while the lease of a dead leader is held, Watch asks for another look at the
// team although no file changes, and a look after the release shows that nobody leads.
func TestWatchOfADeadLeader(t *testing.T) {
	op := operatortest.New(t)
	r := operatortest.Team(t, op, "api", record.PolicySet{})
	s, leader := r.State(), operatortest.Process(t)
	r.Sleeper(s, "ann")
	operatortest.Append(t, op, s, journal.Draft{Kind: record.KindLeading, Must: true, Body: record.LeadingProcess{ID: leader}})
	release, held, err := s.Dir.TryLease(s.Dir.LeaderLease())
	if err != nil || !held {
		t.Fatal(held, err)
	}
	if err := syscall.Kill(leader.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, "the leader is dead", func() bool { _, err := spawn.Identify(leader.PID); return err != nil || !leader.Alive() })

	live := tui.NewLive(op, "api")
	ctx, stop := context.WithCancel(t.Context())
	changes, _ := live.Watch(ctx)
	defer func() {
		stop()
		for range changes { // until Watch has ended
		}
	}()
	problems := func() []string {
		c, err := live.Crew(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return c.Problems
	}
	changed := func() {
		t.Helper()
		select {
		case <-changes:
		case <-time.After(time.Minute):
			t.Fatal("Watch asks for no look")
		}
	}
	// The first looks have other reasons: the beginning, and the processes that the first one found.
	for n := range 4 {
		changed()
		if got := problems(); len(got) > 0 {
			t.Fatalf("look %d, while the lease is held: %q", n, got)
		}
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	changed()
	if got := problems(); len(got) != 1 {
		t.Errorf("after the release: %q", got)
	}
}
