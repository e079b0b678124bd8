//go:build unix

package live_test

import (
	"context"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"waggle/internal/face/tui"
	"waggle/internal/face/tui/live"
	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/operator/decide"
	"waggle/operator/proposal"
	"waggle/record"
	"waggle/spawn"
)

// watch watches a source; end returns when Watch has ended.
func watch(t *testing.T, src *live.Source) (changes, output <-chan struct{}, end func()) {
	ctx, stop := context.WithCancel(t.Context())
	changes, output = src.Watch(ctx)
	return changes, output, func() {
		stop()
		for range changes {
		}
	}
}

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
	testenv.Must(t, syscall.Kill(leader.PID, syscall.SIGKILL))
	testenv.Eventually(t, "the leader is dead", func() bool { _, err := spawn.Identify(leader.PID); return err != nil || !leader.Alive() })

	src := live.Of(op, "api")
	changes, _, end := watch(t, src)
	defer end()
	problems := func() []string {
		c, err := src.Crew(t.Context())
		testenv.Must(t, err)
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
	testenv.Must(t, release())
	changed()
	if got := problems(); len(got) != 1 {
		t.Errorf("after the release: %q", got)
	}
}

// TestWatched: what is watched is there, also where no session and no proposal was ever made, so that the system tells of
// their beginning, and no directory is looked for again and again.
func TestWatched(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	operatortest.Team(t, op, "api", record.PolicySet{})
	src := live.Of(op, "")
	for _, d := range live.Watched(src) {
		if _, err := os.Stat(d); err != nil {
			t.Error(err)
		}
	}
	proposals := decide.Of(op).Proposals()
	if slices.Contains(live.Watched(src), proposals.Dir) {
		t.Fatalf("%s is there", proposals.Dir)
	}
	if _, err := proposals.Put(t.Context(), proposal.Proposal{Dir: "/src", Asked: proposal.Asked{Agent: "claude", Task: "fix it"}}, op.Minter.Rand); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(live.Watched(src), proposals.Dir) {
		t.Errorf("%s is not watched: %q", proposals.Dir, live.Watched(src))
	}
}

// TestWatchOutput: output of a member is told on the channel of output alone, and is its last line then.
func TestWatchOutput(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	c := operatortest.NewCrowd(t, op, "api", 2, 20)
	src := live.Of(op, "")
	if _, err := src.Crew(t.Context()); err != nil {
		t.Fatal(err)
	}
	changes, output, end := watch(t, src)
	defer end()
	<-changes
	<-output
	c.Says(1, "almost done")
	for key := (tui.MemberKey{Team: "api", Member: "m1"}); src.Said()[key] != "almost done"; {
		select {
		case <-output:
		case <-time.After(time.Minute):
			t.Fatalf("nothing is told; said are %q", src.Said())
		}
	}
	select {
	case <-changes:
		t.Error("output was told as a change of records")
	default:
	}
}
