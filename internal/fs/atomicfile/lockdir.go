package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// The proper-lockfile directory (protocol §2.4): made by mkdir, always empty, removed
// by rmdir, abandoned when its modification time is older than the stale time, or lies in
// the future and has not changed for the stale time (sight).

// ownPerm is the mode of our lock directories, which no other program gives one
// (they use 0777 less the umask): one of the marks by which an orphan of ours is
// told from a directory that got its inode number since. An empty directory needs
// no write permission to be removed.
const ownPerm fs.FileMode = 0o500

const slack = int64(100 * time.Millisecond) // between our clock and file times

// made reports whether d is the lock directory that the writer of r made. We hold the flock, so
// that writer is dead or has released it.
func (r record) made(d dirStat) bool {
	if !d.mode.IsDir() {
		return false
	}
	switch r.state {
	case stateTaking: // killed between mkdir and its note of it
		return d.mode.Perm() == ownPerm && d.born() >= r.since-slack
	case stateHeld, statePublishing:
		if d.ino != r.dir.ino {
			return false
		}
		if d.btime != 0 && r.dir.btime != 0 {
			return d.btime == r.dir.btime
		}
		return d.mode.Perm() == ownPerm && d.mtime >= r.dir.mtime
	}
	return false
}

// takeDir makes the lock directory, or adopts the one a killed process of ours
// left behind.
func (l *lock) takeDir() error {
	perm := fs.FileMode(0o777)
	if l.flk != nil {
		perm = ownPerm
		if l.adopt() {
			l.hold()
			return nil
		}
		l.note(stateTaking)
		l.o.hook("announced")
	}
	for {
		made, err := l.makeDir(perm)
		if made {
			l.hold()
			return nil
		}
		if err != nil {
			return l.giveUp(fmt.Errorf("lock: %w", err))
		}
		holder, age, again, err := l.foreign()
		if err != nil {
			return l.giveUp(fmt.Errorf("lock: %w", err))
		}
		if again {
			continue
		}
		// A missing directory above ends the wait as well: a deleted team.
		if _, err := os.Lstat(l.parent()); err != nil {
			return l.giveUp(fmt.Errorf("lock: %w", err))
		}
		if !l.w.wait() {
			return l.giveUp(l.w.locked(holder, age))
		}
	}
}

// makeDir tries to make the lock directory. made is false without an error when another process has
// it.
func (l *lock) makeDir(perm fs.FileMode) (made bool, err error) {
	start := time.Now()
	err = Mkdir(l.dirPath(), perm)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	l.o.hook("lock-made")
	d, err := statDir(l.dirPath())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	// If this process was stopped since the mkdir, another program may have taken the lock over,
	// and this directory is its own. The mode shows that, or else the time.
	if (l.flk == nil || d.mode.Perm() != ownPerm) && time.Since(start) > l.o.stale()/2 {
		return false, nil
	}
	l.dir, l.rec.dir = d, d
	l.note(stateHeld)
	return true, nil
}

func (l *lock) parent() string { return l.path[:len(l.path)-len(filepath.Base(l.path))] }

// giveUp removes the announcement of the directory from the record.
func (l *lock) giveUp(err error) error {
	if l.flk != nil && l.prev.clean() {
		l.note(stateFree)
	}
	return err
}

// adopt takes over the lock directory of a killed process of ours at once.
func (l *lock) adopt() bool {
	if l.prev.clean() {
		return false
	}
	d, err := statDir(l.dirPath())
	if err != nil || !l.prev.made(d) {
		return false
	}
	l.dir = d
	if !l.touch() {
		return false // another program took it over in the same moment
	}
	l.rec.dir = l.dir
	l.note(stateHeld)
	return true
}

// foreign reads the state of a lock directory that is not ours: its holder, its age, and whether it
// was removed, abandoned or set aside, so that mkdir may be tried again at once. The error is that of
// what is no lock and cannot be set aside.
func (l *lock) foreign() (holder string, age time.Duration, again bool, err error) {
	holder = "another program"
	d, err := statDir(l.dirPath())
	if err != nil {
		return holder, 0, false, nil
	}
	if !d.mode.IsDir() {
		err := l.o.clear(l.dirPath(), notDirectory)
		return holder, 0, err == nil, err
	}
	if l.flk != nil && time.Since(time.Unix(0, l.rec.foreign)) > time.Second {
		l.rec.foreign = time.Now().UnixNano()
		l.note(stateTaking)
	}
	age = max(0, time.Duration(l.o.now().UnixNano()-d.born()))
	if d.mode.Perm() == ownPerm {
		holder = "another waggle process"
	}
	if old := l.age(d); old <= l.o.stale() && (old >= 0 || l.unchanged(d) <= l.o.stale()) {
		return holder, age, false, nil
	}
	l.scan = true
	if err := os.Remove(l.dirPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		// It is not empty: no program's lock.
		err := l.o.clear(l.dirPath(), func(fi fs.FileInfo) bool { return fi.ModTime().UnixNano() == d.mtime })
		return holder, age, err == nil, err
	}
	return holder, age, true, nil
}

// hold starts the renewal of a lock that was just taken.
func (l *lock) hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.made = time.Now()
	l.timer = time.AfterFunc(l.o.refresh(), func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if !l.done && l.ours() && l.touch() {
			l.timer.Reset(l.o.refresh())
		}
	})
}

// ours looks whether the lock directory is still the one we made.
func (l *lock) ours() bool {
	if !l.lost {
		d, err := statDir(l.dirPath())
		l.lost = err != nil || !d.same(l.dir)
	}
	return !l.lost
}

// touch renews the lock directory.
func (l *lock) touch() bool {
	now := l.o.now()
	err := os.Chtimes(l.dirPath(), now, now)
	d, err2 := statDir(l.dirPath())
	if err != nil || err2 != nil || d.ino != l.dir.ino || d.btime != l.dir.btime || d.mode != l.dir.mode {
		l.lost = true
		return false
	}
	l.dir = d
	return true
}

// check is called before anything is published: a holder that slept may have lost
// its lock, or be about to.
func (l *lock) check() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ours() || l.age(l.dir) > l.o.stale()/2 && !l.touch() {
		return fmt.Errorf("%s: %w", l.path, ErrLost)
	}
	return nil
}

// removeDir removes the lock directory if it is still ours.
func (l *lock) removeDir() error {
	if !l.ours() {
		return fmt.Errorf("%s: %w", l.path, ErrLost)
	}
	if err := os.Remove(l.dirPath()); err != nil {
		return fmt.Errorf("unlock: %w", err)
	}
	return nil
}
