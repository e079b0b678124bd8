package atomicfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// Flock takes an exclusive flock on path and creates the file with mode 0600. What is at path and is not a
// regular file is set aside first (Options.Aside). Only our own processes use it; they get it first come, first served where the system has locks for that. It waits until
// o.Deadline, longer while the waiters in front get the lock, and then fails with *LockedError.
// Release is idempotent. The file is never removed, because waiting processes have it open. Goroutines
// of one process exclude each other too.
func Flock(ctx context.Context, path string, o Options) (release func() error, err error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("flock %s: %w", path, err)
	}
	path, err = canonical(path)
	if err != nil {
		return nil, fmt.Errorf("flock: %w", err)
	}
	unrank := enterRank(o.Rank, path, true)
	w := newWaiter(ctx, path, o)
	defer func() { w.stop() }()
	leave, err := enqueue(w.ctx, "flock:"+path) // not the queue of Edit and Lock
	if err != nil {
		unrank()
		return nil, w.locked("another operation of this process", 0)
	}
	lock, err := waitFlock(ctx, path, o, w)
	if lock != nil {
		return sync.OnceValue(func() error {
			defer unrank()
			defer leave()
			return lock.Unlock()
		}), nil
	}
	leave()
	unrank()
	if err != nil {
		return nil, fmt.Errorf("flock: %w", err)
	}
	holder := "another process"
	if pid := Holder(path); pid > 0 {
		holder = fmt.Sprintf("pid %d", pid)
	}
	return nil, w.locked(holder, 0)
}

// TryFlock is Flock that does not wait: held reports whether it was taken. A process lease is such
// a lock: the kernel releases it when the holder dies, and a child process does not inherit it.
func TryFlock(path string, o Options) (release func() error, held bool, err error) {
	path, err = canonical(path)
	if err != nil {
		return nil, false, fmt.Errorf("flock: %w", err)
	}
	unrank := enterRank(o.Rank, path, false)
	lock, err := tryFlock(path, o)
	if err != nil || lock == nil {
		unrank()
		if err != nil {
			err = fmt.Errorf("flock: %w", err)
		}
		return nil, false, err
	}
	return sync.OnceValue(func() error {
		defer unrank()
		return lock.Unlock()
	}), true, nil
}

// How often and how long tryFlock waits for processes that look whether a lock is held (Flocked).
const (
	mostLooks = 50
	lookPause = 5 * time.Millisecond
)

// free reports whether no process holds the lock of path alone: those that share it look whether
// somebody does.
func free(path string) (bool, error) {
	l := flock.New(path, flock.SetFlag(os.O_RDONLY|openFlags))
	shared, err := l.TryRLock()
	if shared {
		err = l.Unlock()
	}
	return shared && err == nil, err
}

// Flocked reports whether a process holds the flock of path (Flock, TryFlock); what is not a regular file is held by
// none. It makes and changes no file. A TryFlock of another process waits for the call.
func Flocked(path string) (bool, error) {
	path, err := canonical(path)
	nobody := replaced(path)
	if err == nil && !nobody {
		nobody, err = free(path)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("flock: %w", err)
	}
	return !nobody, nil
}

// tryFlock returns nil when another process holds the lock. One that only looks at it is waited for.
// What is at the path and cannot be locked is set aside. It tries again when the file was removed or
// replaced during the call: a lock on that file excludes nobody.
func tryFlock(path string, o Options) (*flock.Flock, error) {
	looks := mostLooks
	for range 100 {
		if err := Clear(path, o); err != nil {
			return nil, err
		}
		l := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR|openFlags), flock.SetPermissions(0o600))
		if err := Failing(OpOpen, path); err != nil {
			return nil, err
		}
		ok, err := l.TryLock()
		onlyLooked := false
		if err == nil && !ok && looks > 0 {
			onlyLooked, _ = free(path)
		}
		switch {
		case onlyLooked:
			looks--
			time.Sleep(lookPause)
			continue
		case err != nil && (replaced(path) || errors.Is(err, fs.ErrPermission) && readable(path)):
			continue
		case err != nil || !ok:
			return nil, err
		}
		mine, err := l.Stat()
		if err == nil {
			var now fs.FileInfo
			if now, err = os.Lstat(path); err == nil && os.SameFile(mine, now) && !notRegular(mine) {
				return l, nil
			}
		}
		_ = l.Unlock()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s is replaced again and again", path)
}

// replaced reports whether something else than a regular file took the place of the lock's file during an attempt.
func replaced(path string) bool {
	fi, err := os.Lstat(path)
	return err == nil && notRegular(fi)
}

// readable gives the lock's file, of this user, the mode back without which it cannot be opened, and reports whether it
// did. The file stays the same: a process that has it locked still excludes the others.
func readable(path string) bool {
	fi, err := os.Lstat(path)
	return err == nil && fi.Mode().IsRegular() && fi.Mode().Perm()&0o600 != 0o600 && ownedByUs(fi) && chmodFile(path, 0o600) == nil
}

// A waiter spends one deadline over everything an operation waits for.
type waiter struct {
	parent context.Context
	ctx    context.Context // ends with parent or at the deadline
	stop   context.CancelFunc
	path   string
	start  time.Time
	delay  time.Duration
}

const (
	firstDelay = 50 * time.Microsecond
	lastDelay  = 2 * time.Millisecond
)

func newWaiter(ctx context.Context, path string, o Options) *waiter {
	w := &waiter{parent: ctx, path: path, start: time.Now(), delay: firstDelay}
	w.ctx, w.stop = context.WithDeadline(ctx, w.start.Add(o.deadline()))
	return w
}

// wait sleeps a jittered, growing moment; false when the time is up.
func (w *waiter) wait() bool {
	if w.ctx.Err() != nil {
		return false
	}
	pause := w.delay/2 + rand.N(w.delay/2+1)
	w.delay = min(2*w.delay, lastDelay)
	select {
	case <-time.After(pause):
		return true
	case <-w.ctx.Done():
		return false
	}
}

// locked is the error of a wait that ended: the caller's cancellation, or who
// holds the lock.
func (w *waiter) locked(holder string, age time.Duration) error {
	cause := w.parent.Err()
	if errors.Is(cause, context.Canceled) {
		return fmt.Errorf("waiting for the lock of %s, held by %s: %w", w.path, holder, cause)
	}
	return &LockedError{Path: w.path, Age: age, Holder: holder, Waited: time.Since(w.start), Cause: cause}
}
