package atomicfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// Lock takes the lock of path (which must exist and be a regular file, as proper-lockfile requires)
// and returns its release. It fails with *LockedError at the deadline. Release is idempotent and
// reports ErrLost for a lock that was lost meanwhile. The lock directory is renewed at least every
// 3 s while it is held (protocol §2.4); our other processes wait for the release for their whole
// deadline.
func Lock(ctx context.Context, path string, o Options) (release func() error, err error) {
	if _, err := Identify(path); err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	l, err := acquire(ctx, path, o)
	if err != nil {
		return nil, err
	}
	return sync.OnceValue(l.release), nil
}

// lock is one hold of all three locks of a path.
type lock struct {
	path string // canonical
	o    Options
	w    *waiter

	unrank func()
	leave  func()       // the in-process queue
	flk    *flock.Flock // nil: we are a plain proper-lockfile client
	file   *os.File     // the flock file again, for the record
	prev   record       // what the holder before us left
	rec    record       // ours
	seen   *sight       // the lock of another program, while its time lies in the future
	scan   bool         // a dead writer may have left temporary files

	patience time.Time // when a foreign writer was first found to have the file open

	mu    sync.Mutex // guards what the renewing timer touches
	dir   dirStat    // the lock directory we made
	made  time.Time
	timer *time.Timer
	lost  bool
	done  bool
}

func (l *lock) dirPath() string { return l.path + ".lock" }

// acquire takes queue, flock and lock directory in this order, one deadline for all, and removes
// what a killed writer left.
func acquire(ctx context.Context, path string, o Options) (*lock, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	path, err := canonical(path)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	l := &lock{path: path, o: o, unrank: enterRank(o.Rank, path, true), w: newWaiter(ctx, path, o)}
	if err := l.take(); err != nil {
		l.letGo()
		return nil, err
	}
	o.hook("locked")
	if l.scan {
		l.recover()
	}
	return l, nil
}

func (l *lock) take() error {
	leave, err := enqueue(l.w.ctx, l.path)
	if err != nil {
		return l.w.locked("another operation of this process", 0)
	}
	l.leave = leave
	l.o.hook("queued")
	if err := l.takeFlock(); err != nil {
		return err
	}
	l.o.hook("flocked")
	return l.takeDir()
}

// takeFlock waits for our own queue file. It may end without the flock and
// without an error, which leaves us a plain client of the lock directory: where
// there are no flocks, and where the holder of the flock sleeps.
func (l *lock) takeFlock() error {
	path, ok := l.queuePath()
	if !ok {
		return nil
	}
	for {
		flk, err := tryFlock(path, l.o)
		var stuck *LockedError
		switch {
		case err != nil && (noFlock(err) || errors.As(err, &stuck)): // what cannot be set aside is no queue
			return nil
		case err != nil:
			return fmt.Errorf("lock: %w", err)
		case flk != nil:
			if again, err := l.openRecord(flk, path); !again {
				return err
			}
			continue
		}
		if l.sleeper(path) {
			return nil
		}
		if !l.w.wait() {
			return l.flockHeld(path)
		}
	}
}

// openRecord reads the record in the queue file that flk has locked. again: the file was not ours to write, and is set
// aside.
func (l *lock) openRecord(flk *flock.Flock, path string) (again bool, err error) {
	l.flk = flk
	f, err := OpenFile(path, os.O_RDWR|openFlags, 0)
	if err != nil {
		return false, fmt.Errorf("lock: %w", err)
	}
	l.file = f
	if fi, err := f.Stat(); err == nil && foreignRecord(f, fi) {
		err := l.o.clear(path, func(now fs.FileInfo) bool { return os.SameFile(fi, now) })
		l.file, l.flk = nil, nil
		_, _ = f.Close(), flk.Unlock()
		return err == nil, nil // one that cannot be set aside is no queue
	}
	l.prev = readRecord(f)
	l.scan = !l.prev.clean()
	l.rec = record{
		boot: bootID(), pid: os.Getpid(), start: ownStart(), since: time.Now().UnixNano(),
		state: l.prev.state, dir: l.prev.dir, foreign: l.prev.foreign,
		tmp: l.prev.tmp, base: l.prev.base, next: l.prev.next,
	}
	if l.prev.boot == l.rec.boot && l.rec.boot != "-" {
		// After a reboot equal identities do not prove equal contents.
		l.rec.last = l.prev.last
	}
	return false, nil
}

var ownStart = sync.OnceValue(func() uint64 {
	n, _ := procStart(os.Getpid())
	return n
})

// sleeper reports whether the holder of the flock was stopped: it has neither written its record
// nor renewed its lock directory for the stale time. Other programs take over its lock directory
// then, and we do so too, without the flock: a stopped process must not block the others.
func (l *lock) sleeper(path string) bool {
	if time.Since(l.w.start) < min(l.o.stale()/4, 500*time.Millisecond) {
		return false
	}
	fi, err := os.Lstat(path)
	if err != nil || l.o.now().Sub(fi.ModTime()) <= l.o.stale() {
		return false
	}
	d, err := statDir(l.dirPath())
	return os.IsNotExist(err) || err == nil && l.age(d) > l.o.stale()
}

// age is the time since the holder of a lock directory renewed it.
func (l *lock) age(d dirStat) time.Duration { return time.Duration(l.o.now().UnixNano() - d.mtime) }

func (l *lock) flockHeld(path string) error {
	rec := record{state: stateFree}
	if f, err := openRead(path); err == nil {
		rec = readRecord(f)
		f.Close()
	}
	var age time.Duration
	if !rec.clean() {
		age = l.o.now().Sub(time.Unix(0, rec.since))
	}
	return l.w.locked(rec.holder(), age)
}

// note writes the record. An error is not one of the edit: without a record an
// orphan of ours waits out the stale time, that is all.
func (l *lock) note(state string) {
	if l.file != nil {
		l.rec.state = state
		_, _ = l.file.WriteAt(l.rec.encode(), recordOffset)
	}
}

// release gives everything back in reverse order. The error is ErrLost, or what
// kept the lock directory from being removed.
func (l *lock) release() error {
	l.o.hook("unlocking")
	l.mu.Lock()
	l.done = true
	l.timer.Stop()
	err := l.removeDir()
	l.mu.Unlock()
	l.o.hook("lock-removed")
	if l.flk != nil {
		l.rec.tmp, l.rec.base, l.rec.next = "", Identity{}, Identity{}
		if err == nil || errors.Is(err, ErrLost) {
			l.rec.dir = dirStat{}
			l.note(stateFree)
		} else {
			l.note(stateHeld) // the directory is still there: the next of us adopts it
		}
		l.yield()
	}
	l.letGo()
	l.o.hook("unlocked")
	return err
}

// yield leaves the lock directory free for as long as we held it, while other
// programs were seen lately: their retries are few and far between, ours come the
// moment the flock is free.
func (l *lock) yield() {
	if time.Since(time.Unix(0, l.rec.foreign)) > 10*time.Second {
		return
	}
	until := time.Now().Add(min(time.Since(l.made), 5*time.Millisecond))
	if time.Until(until) > time.Millisecond {
		time.Sleep(time.Until(until))
	}
	for time.Now().Before(until) {
		runtime.Gosched() // a shorter sleep would last a millisecond
	}
}

// letGo gives back the flock and the queue.
func (l *lock) letGo() {
	if l.file != nil {
		l.file.Close()
	}
	if l.flk != nil {
		_ = l.flk.Unlock()
	}
	if l.leave != nil {
		l.leave()
	}
	l.w.stop()
	l.unrank()
}
