package leader

import (
	"errors"
	"fmt"
	"io"
	"time"

	"waggle/internal/atomicfile"
	"waggle/journal"
	"waggle/poll"
)

// The pauses after passes that failed one after the other: each is twice the one before,
// less a part that chance chooses.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 2 * time.Second
)

// pause is the back-off after a pass that failed for lack of a resource: a full disk, too few
// descriptors. A retry at every nudge would make it worse, and nothing can be decided while nothing
// can be recorded. passing guards it.
type pause struct {
	why   error
	until time.Time
	next  time.Duration
}

// PausedError is what Pass returns while it waits before it tries again.
type PausedError struct{ Err error } // of the pass that failed

// Error says what failed.
func (e *PausedError) Error() string {
	return fmt.Sprintf("nothing is done until it is tried again: %v", e.Err)
}

func (e *PausedError) Unwrap() error { return e.Err }

// paused is nil when a pass may be tried.
func (l *Leader) paused() error {
	now := l.p.Minter.Now()
	if l.pause.why == nil || !now.Before(l.pause.until) || l.pause.until.Sub(now) > lastPause { // a clock that was set back
		return nil
	}
	return &PausedError{l.pause.why}
}

// passed records how a pass went, and logs it when that changes.
func (l *Leader) passed(err error) {
	if !l.p.Writer.Operator { // a command says it itself
		l.trouble.Note("pass", err, "pass failed: nothing is decided until one succeeds, will retry")
	}
	if err == nil || !shortage(err) {
		l.pause = pause{}
		return
	}
	l.pause.why = err
	l.pause.next = min(max(2*l.pause.next, firstPause), lastPause)
	l.pause.until = l.p.Minter.Now().Add(l.pause.next - jitter(l.p.Minter.Rand, l.pause.next/2))
}

// shortage reports an error that trying at once does not help: not a lock, which was
// waited for, nor a record that its own fold refuses.
func shortage(err error) bool {
	var locked *atomicfile.LockedError
	var draft *journal.DraftError
	return !poll.Final(err) && !errors.As(err, &locked) && !errors.As(err, &draft)
}

// jitter is a part of d that chance chooses.
func jitter(chance io.Reader, d time.Duration) time.Duration {
	var b [1]byte
	if chance == nil {
		return 0
	}
	if _, err := io.ReadFull(chance, b[:]); err != nil {
		return 0
	}
	return d * time.Duration(b[0]) / 256
}
