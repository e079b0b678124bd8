package atomicfile

import (
	"errors"
	"fmt"
	"time"
)

// Errors that callers branch on. The text around them names the file.
var (
	// ErrNotRegular refuses a symbolic link, FIFO, device or directory where a
	// file is expected.
	ErrNotRegular = errors.New("not a regular file")
	// ErrTooLarge refuses a file, or a new content, over Options.MaxSize.
	ErrTooLarge = errors.New("file too large")
	// ErrLost says that a lock was taken over by another program while it was
	// held, because its holder slept for longer than the stale time.
	ErrLost = errors.New("lock was lost while it was held")
)

// LockedError reports a lock that could not be had before the deadline. Locked
// never looks like empty.
type LockedError struct {
	Path   string        // the file whose lock it is
	Age    time.Duration // of the holder's lock; 0 when unknown
	Holder string        // the holder, as far as it is known: "pid 4711 (waggle)" or "another program"
	Waited time.Duration
	// Cause is context.DeadlineExceeded when the caller's context ended first. Without a holder, it says what is at the
	// path of the lock, is no lock, and cannot be set aside.
	Cause error
}

// Error names the file, the holder, the age of its lock, and what to do next.
func (e *LockedError) Error() string {
	if e.Holder == "" && e.Cause != nil {
		return fmt.Sprintf("%s cannot be locked: %v", e.Path, e.Cause)
	}
	age := "for an unknown time"
	if e.Age > 0 {
		age = "for " + round(e.Age).String()
	}
	return fmt.Sprintf("%s is locked by %s %s (waited %s): try again; if the holder hangs, end it: "+
		"an abandoned lock is then taken over by itself", e.Path, e.Holder, age, round(e.Waited))
}

// Unwrap returns Cause.
func (e *LockedError) Unwrap() error { return e.Cause }

func round(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(100 * time.Millisecond)
}

// RecordError reports a file that is not what it should be: it will not become readable.
type RecordError struct {
	Path string
	Err  error
}

func (e *RecordError) Error() string { return fmt.Sprintf("%s: %v", e.Path, e.Err) }

func (e *RecordError) Unwrap() error { return e.Err }
