package leader_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"waggle/journal"
	"waggle/leader"
	"waggle/machine"
)

// starved is a journal of a disk that is full for a while.
type starved struct {
	journal.Journal
	full  bool
	tried int
}

func (s *starved) Append(ctx context.Context, w journal.Writer, propose func() ([]journal.Draft, error)) ([]journal.Record, error) {
	if !s.full {
		return s.Journal.Append(ctx, w, propose)
	}
	s.tried++
	return nil, fmt.Errorf("append: %w", syscall.ENOSPC)
}

// TestBacksOff: a leader whose journal accepts no record retries after pauses that grow up to a
// bound and are randomised, logs the failure once, does nothing meanwhile, and continues when there
// is room.
func TestBacksOff(t *testing.T) {
	r := newRig(t, "ann")
	j := &starved{}
	r.wrap = func(own journal.Journal) journal.Journal { j.Journal = own; return j }
	r.open()
	r.pass()
	r.assign("ann", "1")
	r.take("ann")
	j.full = true
	key := r.asks("ann", "make it")
	gaps, last := map[time.Duration]bool{}, r.now
	for range 6000 { // a minute of nudges
		before := j.tried
		if err := r.l.Pass(t.Context()); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("pass: %v", err)
		}
		if j.tried > before {
			if gap := r.now.Sub(last); gap > 2*time.Second {
				t.Errorf("not tried for %v", gap)
			}
			gaps[r.now.Sub(last)], last = true, r.now
		}
		r.tick(10 * time.Millisecond)
	}
	if j.tried > 70 || j.tried < 30 {
		t.Errorf("tried %d times in a minute", j.tried)
	}
	if len(gaps) < 10 {
		t.Errorf("only %d different pauses", len(gaps))
	}
	if n := strings.Count(r.log.String(), "pass failed"); n != 1 {
		t.Errorf("said %d times:\n%s", n, r.log)
	}
	if req, ok := r.view().Request(key); ok {
		t.Errorf("recorded meanwhile: %+v", req)
	}
	j.full = false
	r.tick(2 * time.Second)
	r.pass()
	if req, ok := r.view().Request(key); !ok || req.State != machine.RequestPending {
		t.Errorf("asked before there was room: %+v", req)
	}
	j.full = true
	r.asks("ann", "make that")
	if err := r.l.Pass(t.Context()); !errors.Is(err, syscall.ENOSPC) || errors.As(err, new(*leader.PausedError)) {
		t.Errorf("the first failure after a success: %v", err)
	}
	if n := strings.Count(r.log.String(), "pass failed"); n != 2 {
		t.Errorf("said %d times:\n%s", n, r.log)
	}
}
