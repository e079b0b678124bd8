//go:build unix

package atomicfile_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"waggle/internal/fs/atomicfile"
	"waggle/internal/test/testenv"
)

// strange makes what no lock is, at a path. Each says what has become of it in Oddity.What.
var strange = []struct {
	name, what string
	make       func(path string) error
	file       bool // a queue file and the file of a Flock may be one
	dir        bool // a lock directory may be one
}{
	{name: "FIFO", what: "a FIFO", make: func(p string) error { return syscall.Mkfifo(p, 0o600) }},
	{name: "file", what: "a regular file", file: true, make: func(p string) error { return os.WriteFile(p, []byte("mine"), 0o600) }},
	{name: "link to a file", what: "a symbolic link", make: func(p string) error { return os.Symlink("kept", p) }},
	{name: "dangling link", what: "a symbolic link", make: func(p string) error { return os.Symlink("nothing", p) }},
	{name: "link to a directory", what: "a symbolic link", make: func(p string) error { return os.Symlink(".", p) }},
	{name: "loop", what: "a symbolic link", make: func(p string) error { return os.Symlink(filepath.Base(p), p) }},
	{name: "empty directory", what: "a directory", dir: true, make: func(p string) error { return os.Mkdir(p, 0o700) }},
	{name: "full directory", what: "a directory", make: func(p string) error {
		old := time.Now().Add(-time.Minute)
		return errors.Join(os.MkdirAll(filepath.Join(p, "full"), 0o700), os.Chtimes(p, old, old))
	}},
	{name: "socket", what: "a socket", make: func(p string) error {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: p, Net: "unix"})
		if err != nil {
			return err
		}
		l.SetUnlinkOnClose(false)
		return l.Close()
	}},
}

// lockKinds are the ways to take a lock on a file, and the path that each needs.
var lockKinds = []struct {
	name string
	path func(file string) string
	take func(file string, o atomicfile.Options) error
	dir  bool // the path is a lock directory
}{
	{name: "queue", path: func(p string) string { return filepath.Join(filepath.Dir(p), "."+filepath.Base(p)+".flk") },
		take: func(p string, o atomicfile.Options) error { return appendLine(p, "x", o) }},
	{name: "directory", dir: true, path: func(p string) string { return p + ".lock" },
		take: func(p string, o atomicfile.Options) error { return appendLine(p, "x", o) }},
	{name: "held", dir: true, path: func(p string) string { return p + ".lock" }, take: func(p string, o atomicfile.Options) error {
		release, err := atomicfile.Lock(context.Background(), p, o)
		if err == nil {
			err = release()
		}
		return err
	}},
	{name: "flock", path: func(p string) string { return p + "-lock" }, take: func(p string, o atomicfile.Options) error {
		release, err := atomicfile.Flock(context.Background(), p+"-lock", o)
		if err == nil {
			err = release()
		}
		return err
	}},
	{name: "lease", path: func(p string) string { return p + "-lock" }, take: func(p string, o atomicfile.Options) error {
		release, held, err := atomicfile.TryFlock(p+"-lock", o)
		if err == nil && !held {
			err = errors.New("not held")
		}
		if err == nil {
			err = release()
		}
		return err
	}},
}

// TestStrangePaths: what is at the path of a lock and is no lock is set aside by a rename, whole and once, with and without
// a directory for it, and the lock is taken. Nothing is opened, followed or removed.
func TestStrangePaths(t *testing.T) {
	t.Parallel()
	for _, lock := range lockKinds {
		for _, s := range strange {
			if s.dir && lock.dir || s.file && !lock.dir {
				continue // it may be a lock
			}
			for _, aside := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/%v", lock.name, s.name, aside), func(t *testing.T) {
					p := newFile(t, "old\n")
					dir := filepath.Dir(p)
					kept := filepath.Join(dir, "kept")
					must(t, os.WriteFile(kept, []byte("kept"), 0o600))
					var told []string
					o := atomicfile.Options{Deadline: time.Minute, Cleared: func(path, place string) { told = append(told, path, place) }}
					in := dir
					if aside {
						o.Aside = filepath.Join(dir, "aside")
						in = o.Aside
					}
					path := lock.path(p)
					must(t, s.make(path))
					was, err := os.Lstat(path)
					must(t, err)
					must(t, lock.take(p, o))
					must(t, lock.take(p, o))
					if len(told) != 2 || told[0] != path || filepath.Dir(told[1]) != in || !strings.HasPrefix(filepath.Base(told[1]), filepath.Base(path)+"-") {
						t.Fatalf("told %q", told)
					}
					is, err := os.Lstat(told[1])
					if err != nil || !os.SameFile(was, is) || was.Mode() != is.Mode() {
						t.Errorf("set aside is %v (%v), was %v", is, err, was)
					}
					holds(t, kept, "kept")
				})
			}
		}
	}
}

// TestQueueFileOfAnother: a queue file with another content than a record is set aside, and nothing is written into it.
func TestQueueFileOfAnother(t *testing.T) {
	t.Parallel()
	p := newFile(t, "")
	other := filepath.Join(filepath.Dir(p), "other")
	must(t, os.WriteFile(other, []byte("what I wrote"), 0o600))
	must(t, os.Link(other, filepath.Join(filepath.Dir(p), ".a.json.flk")))
	must(t, appendLine(p, "x", atomicfile.Options{}))
	must(t, appendLine(p, "y", atomicfile.Options{}))
	holds(t, other, "what I wrote")
	if odd := atomicfile.Oddities(filepath.Dir(p), time.Now()); len(odd) != 1 || odd[0].At.IsZero() {
		t.Errorf("%+v", odd)
	}
}

// TestStrangePathThatStays: what cannot be set aside is named, with the reason, as a lock that cannot be had. A queue file
// that cannot be set aside keeps nobody from the lock.
func TestStrangePathThatStays(t *testing.T) {
	t.Parallel()
	for _, lock := range lockKinds {
		p := newFile(t, "")
		path := lock.path(p)
		o := atomicfile.Options{Deadline: time.Minute}
		for n := range 40 { // more than are ever set aside from one path
			must(t, syscall.Mkfifo(path, 0o600))
			err := lock.take(p, o)
			if lock.name == "queue" {
				must(t, err)
			} else if err != nil {
				l := isLocked(t, err)
				if n < 10 || l.Holder != "" || l.Age != 0 || !strings.Contains(err.Error(), path+" is a FIFO and cannot be set aside") {
					t.Errorf("%s, round %d: %v", lock.name, n, err)
				}
			}
			_ = os.Remove(path) // what was set aside is not there any more
		}
		odd := atomicfile.Oddities(filepath.Dir(p), time.Now())
		if lock.name != "flock" && lock.name != "lease" && len(odd) != 32 {
			t.Errorf("%s: %d were set aside", lock.name, len(odd))
		}
		must(t, lock.take(p, o))
	}
}

// TestStrangePathOnce: of many that find a strange file at once, one sets it aside, and none moves the lock that
// another has made since.
func TestStrangePathOnce(t *testing.T) {
	t.Parallel()
	for round := range 100 {
		path := filepath.Join(t.TempDir(), "lock")
		must(t, syscall.Mkfifo(path, 0o600))
		var told, inside atomic.Int32
		o := atomicfile.Options{Cleared: func(string, string) { told.Add(1) }}
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				release, held, err := atomicfile.TryFlock(path, o)
				if err != nil {
					t.Error(err)
				}
				if !held {
					return
				}
				if inside.Add(1) != 1 {
					t.Errorf("round %d: two have the lock", round)
				}
				runtime.Gosched()
				inside.Add(-1)
				must(t, release())
			})
		}
		all.Wait()
		if told.Load() != 1 {
			t.Errorf("round %d: set aside %d times", round, told.Load())
		}
	}
}

// TestRenewedLockIsWaitedFor: a directory, also one that is not empty, whose holder renews it is a lock: nobody moves it,
// the wait ends at the deadline with the holder, and the lock is had as soon as it is gone.
func TestRenewedLockIsWaitedFor(t *testing.T) {
	t.Parallel()
	p := newFile(t, "")
	must(t, os.MkdirAll(filepath.Join(p+".lock", "full"), 0o700))
	over, done := make(chan struct{}), make(chan struct{})
	var renewals atomic.Int32
	go func() {
		defer close(done)
		for {
			now := time.Now()
			if os.Chtimes(p+".lock", now, now) != nil {
				t.Error("the lock of a living holder was moved")
				return
			}
			renewals.Add(1)
			select {
			case <-over:
				return
			case <-time.After(20 * time.Millisecond): // real clock: a holder that renews its lock
			}
		}
	}()
	testenv.Eventually(t, "a renewal", func() bool { return renewals.Load() > 1 })
	o := atomicfile.Options{Deadline: 300 * time.Millisecond, Stale: 5 * time.Second}
	if l := isLocked(t, appendLine(p, "x", o)); l.Holder != "another program" || l.Cause != nil {
		t.Errorf("%+v", l)
	}
	close(over)
	<-done
	must(t, os.RemoveAll(p+".lock"))
	must(t, appendLine(p, "x", o))
}

// TestUnreadableLockFile: a lock file of this user that lost its mode gets it back and stays the same file, so that its
// holder still excludes the others.
func TestUnreadableLockFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	release := mustTry(t, path, atomicfile.Options{})
	must(t, os.Chmod(path, 0))
	if _, held, err := atomicfile.TryFlock(path, atomicfile.Options{}); err != nil || held {
		t.Errorf("beside its holder: %v, %v", held, err)
	}
	must(t, release())
	again := mustTry(t, path, atomicfile.Options{})
	must(t, again())
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
}

// TestOddities: what is at the path of a lock and is none, and what was set aside, are listed, and nothing is changed.
// What is a lock, or is none by its name, is not.
func TestOddities(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	must(t, syscall.Mkfifo(in(".a.json.flk"), 0o600))
	must(t, os.WriteFile(in("b.json.lock"), nil, 0o600))
	must(t, os.Mkdir(in("c.json.lock"), 0o700))
	must(t, os.Mkdir(in(".lock"), 0o700))
	must(t, os.WriteFile(in("lock-20261120T192635.537Z"), nil, 0o600))
	must(t, syscall.Mkfifo(in("d.json.lock-20261120T192635.537Z-2"), 0o600))
	must(t, syscall.Mkfifo(in(".highwatermark-20261120T192635.537Z"), 0o600))
	for _, fine := range []string{".b.json.flk", "lock", "x.json", "x.json.corrupt-20261120T192635.537Z", "ann-20261120T192635.537Z"} {
		must(t, os.WriteFile(in(fine), nil, 0o600))
	}
	list := func(now time.Time) map[string]string {
		got := map[string]string{}
		for _, o := range atomicfile.Oddities(dir, now) {
			got[filepath.Base(o.Path)] = fmt.Sprintf("%s %v", o.What, !o.At.IsZero())
		}
		return got
	}
	want := map[string]string{
		".a.json.flk":                         "a FIFO where a lock belongs false",
		"b.json.lock":                         "a regular file where a lock belongs false",
		".lock":                               "a directory where a lock belongs false",
		"lock-20261120T192635.537Z":           "a regular file that was where a lock belongs true",
		"d.json.lock-20261120T192635.537Z-2":  "a FIFO that was where a lock belongs true",
		".highwatermark-20261120T192635.537Z": "a FIFO that was where a lock belongs true",
	}
	if got := list(time.Now()); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if got := list(time.Now().Add(time.Hour)); !strings.HasPrefix(got["c.json.lock"], "a lock that its holder has had for") {
		t.Errorf("an old lock: %v", got)
	}
	if _, err := os.Lstat(in(".a.json.flk")); errors.Is(err, fs.ErrNotExist) {
		t.Error("it was moved")
	}
}
