package atomicfile

import (
	"context"
	"time"

	"github.com/gofrs/flock"
)

// How a line of waiters behaves.
const (
	// stuckAfter is how long a waiter sees no change in front of it before it tries the lock
	// itself: the first waiter may have been stopped.
	stuckAfter = 250 * time.Millisecond
	// perPlace and farDelay bound the polling interval of a waiter that is not the first.
	perPlace = time.Millisecond
	farDelay = 20 * time.Millisecond
	// longestLine bounds a wait while the line moves, in deadlines.
	longestLine = 12
)

// waitFlock waits for the flock of path, first come, first served. The deadline of w is
// for a lock that does not move: while those in front get it one after the other, a
// waiter stays, up to longestLine of its deadlines. nil, nil: it was held all the time.
func waitFlock(ctx context.Context, path string, o Options, w *waiter) (*flock.Flock, error) {
	if err := Clear(path, o); err != nil { // the line opens it
		return nil, err
	}
	if !lined(path) {
		if lock, err := tryFlock(path, o); lock != nil || err != nil {
			return lock, err
		}
	}
	t := lineUp(path)
	defer t.leave()
	moved, last := time.Now(), int64(0)
	for {
		ahead := t.ahead()
		if ahead != last {
			moved, last = time.Now(), ahead
			w.extend(ctx, o)
		}
		if ahead == 0 || time.Since(moved) > stuckAfter {
			if lock, err := tryFlock(path, o); lock != nil || err != nil {
				return lock, err
			}
		}
		if ahead > 0 {
			w.delay = min(time.Duration(t.n-ahead)*perPlace, farDelay)
		}
		if !w.wait() {
			return nil, nil
		}
	}
}

// extend begins the deadline again, for one whose line has moved.
func (w *waiter) extend(ctx context.Context, o Options) {
	end := w.start.Add(longestLine * o.deadline())
	if next := time.Now().Add(o.deadline()); next.Before(end) {
		end = next
	}
	w.stop()
	w.ctx, w.stop = context.WithDeadline(ctx, end)
}
