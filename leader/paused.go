package leader

import (
	"errors"
	"fmt"

	"waggle/internal/fs/atomicfile"
	"waggle/journal"
	"waggle/poll"
)

// PausedError is what Pass returns while it waits before it tries again.
type PausedError struct{ Err error } // of the pass that failed

// Error says what failed.
func (e *PausedError) Error() string {
	return fmt.Sprintf("nothing is done until it is tried again: %v", e.Err)
}

func (e *PausedError) Unwrap() error { return e.Err }

// paused is nil when a pass may be tried.
func (l *Leader) paused() error {
	if l.lacking == nil || l.pause.Due(l.p.Minter.Now()) {
		return nil
	}
	return &PausedError{l.lacking}
}

// passed records how a pass went, and logs it when that changes.
func (l *Leader) passed(err error) {
	if !l.p.Writer.Operator { // a command says it itself
		l.trouble.Note("pass", err, "pass failed: nothing is decided until one succeeds, will retry")
	}
	if err == nil || !shortage(err) {
		l.lacking = nil
		l.pause.Reset()
		return
	}
	l.lacking = err
	l.pause.Fail(l.p.Minter.Now())
}

// shortage reports an error that trying at once does not help: not a lock, which was
// waited for, nor a record that its own fold refuses.
func shortage(err error) bool {
	var locked *atomicfile.LockedError
	var draft *journal.DraftError
	return !poll.Final(err) && !errors.As(err, &locked) && !errors.As(err, &draft)
}
