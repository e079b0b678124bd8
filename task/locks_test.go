package task_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"waggle/internal/test/testenv"
	"waggle/protocol"
	"waggle/task"
)

// TestLocksOfTheRealClient holds the locks that Claude Code processes take and checks which calls
// wait for them (protocol §4).
func TestLocksOfTheRealClient(t *testing.T) {
	t.Parallel()
	_, dir := newList(t)
	l := open(t, dir, task.Options{Deadline: 40 * time.Millisecond})
	for range 8 {
		create(t, l, task.Task{Owner: "w"})
	}
	ctx := t.Context()
	update := func(fn func(*task.Task)) error {
		_, err := l.Update(ctx, "1", func(t *task.Task) error { fn(t); return nil })
		return err
	}
	calls := []struct {
		name       string
		call       func() error
		list, task bool // which lock it waits for
	}{
		{"create", func() error { _, err := l.Create(ctx, task.Task{}); return err }, true, false},
		{"create after 1", func() error { _, err := l.Create(ctx, task.Task{BlockedBy: []task.ID{"1"}}); return err }, true, true},
		{"claim", func() error { _, err := l.Claim(ctx, "1", "w"); return err }, true, true},
		{"update", func() error { return update(func(t *task.Task) { t.Subject += "x" }) }, false, true},
		{"update links", func() error { return update(func(t *task.Task) { t.Blocks = append(t.Blocks, "2") }) }, true, true},
		{"assign", func() error { _, _, err := l.Assign(ctx, "1", "v", protocol.Lead, noon); return err }, false, true},
		{"start", func() error { _, err := l.Start(ctx, "1", "v"); return err }, false, true},
		{"complete", func() error { _, err := l.Complete(ctx, "1", "v"); return err }, false, true},
		{"release", func() error { _, err := l.ReleaseNoted(ctx, "w", nil); return err }, false, false},
		{"get", func() error { _, err := l.Get(ctx, "1"); return err }, false, false},
		{"all", func() error { _, _, err := l.All(ctx); return err }, false, false},
		{"delete", func() error { return l.Delete(ctx, "1") }, true, true},
	}
	hold := func(name string, waits bool, call func() error, what string) {
		t.Helper()
		lock := filepath.Join(dir, name+".lock")
		testenv.Must(t, os.Mkdir(lock, 0o777))
		err := call()
		if errors.As(err, new(*task.LockedError)) != waits || !waits && err != nil {
			t.Errorf("%s while %s is held: %v", what, lock, err)
		}
		testenv.Must(t, os.Remove(lock))
	}
	for _, c := range calls {
		if c.list {
			hold(".lock", true, c.call, c.name)
		}
		if c.task {
			hold("1.json", true, c.call, c.name)
		}
		// A call that does not need the lock succeeds while it is held.
		if c.list {
			if err := c.call(); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		} else {
			hold(".lock", false, c.call, c.name)
		}
	}
}

// TestCreateStepsAside: an outsider makes the next file while an id is given.
func TestCreateStepsAside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const foreign = `{"id":"1","subject":"outsider","status":"pending"}`
	done := false
	l := open(t, dir, task.Options{Hook: func(step string) {
		if step == "published" && !done { // of .highwatermark
			done = true
			write(t, filepath.Join(dir, "1.json"), foreign)
		}
	}})
	if got := create(t, l, task.Task{Subject: "ours"}); got.ID != "2" || !done {
		t.Errorf("%+v", got)
	}
	if got := read(t, filepath.Join(dir, "1.json")); got != foreign {
		t.Errorf("an outsider's file became %s", got)
	}
}

// TestReadRetries: a write without the lock is torn for two reads, or another process holds the
// lock for good. Every read calls the clock once.
func TestReadRetries(t *testing.T) {
	t.Parallel()
	_, dir := newList(t)
	path := filepath.Join(dir, "1.json")
	reads := 0
	l := open(t, dir, task.Options{Deadline: 30 * time.Millisecond, Now: func() time.Time {
		if reads++; reads == 2 {
			write(t, path, asWritten["2.1.211"])
		}
		return time.Now()
	}})
	write(t, path, asWritten["2.1.211"]+"}")
	testenv.Must(t, os.Mkdir(path+".lock", 0o777))
	if got, err := l.Get(t.Context(), "1"); err != nil || got.Owner != "diver" || reads != 3 {
		t.Errorf("after %d reads: %+v %v", reads, got, err)
	}
	write(t, path, "{")
	var locked *task.LockedError
	if _, err := l.Get(t.Context(), "1"); !errors.As(err, &locked) {
		t.Errorf("broken and locked: %v", err)
	}
	if _, problems, err := l.All(t.Context()); err != nil || len(problems) != 1 || !strings.Contains(problems[0], "locked") {
		t.Errorf("%q %v", problems, err)
	}
}

// TestStrangeLockFile: what is at the path of the list's lock, of the file that the lock is taken on, and of the highest id,
// and is no lock, is set aside, and the list works on.
func TestStrangeLockFile(t *testing.T) {
	t.Parallel()
	l, dir := newList(t)
	create(t, l, task.Task{})
	for n, name := range []string{".lock", ".highwatermark", "..lock.flk"} {
		path := filepath.Join(dir, name)
		testenv.Must(t, errors.Join(os.RemoveAll(path), os.MkdirAll(filepath.Join(path, "full"), 0o700)))
		if got := create(t, l, task.Task{}); string(got.ID) != strconv.Itoa(n+2) {
			t.Errorf("%s: task %s", name, got.ID)
		}
		if kept, err := filepath.Glob(filepath.Join(dir, name+"-*Z", "full")); err != nil || len(kept) != 1 {
			t.Errorf("%s: set aside %q, %v", name, kept, err)
		}
	}
}
