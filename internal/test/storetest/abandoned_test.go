//go:build unix

package storetest_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"waggle/internal/fs/atomicfile"
	"waggle/internal/test/testenv"
	"waggle/mailbox"
	"waggle/task"
	"waggle/team"
)

// hold takes the lock of a file and keeps it until its input ends. Count is its
// stale time in milliseconds.
func (c child) hold() error {
	release, err := atomicfile.Lock(context.Background(), c.Dir, atomicfile.Options{Stale: time.Duration(c.Count) * time.Millisecond})
	if err != nil {
		return err
	}
	fmt.Println("locked")
	bufio.NewScanner(os.Stdin).Scan()
	return release()
}

// place is a team with one file of each kind that is locked.
type place struct {
	root  team.Root
	inbox string
}

func newPlace(t *testing.T) place {
	t.Helper()
	p := place{root: team.Root{Path: t.TempDir()}}
	tm, err := team.Create(t.Context(), p.root, team.Config{Name: "api"}, team.Options{})
	testenv.Must(t, err)
	_, _, err = tm.Add(t.Context(), team.Member{Name: "tester"}, false)
	testenv.Must(t, err)
	p.inbox = filepath.Join(tm.InboxesDir(), "tester.json")
	b, err := open(tm.InboxesDir(), mailbox.Options{})
	testenv.Must(t, err)
	testenv.Must(t, b.Append(t.Context(), mail("sender", 0)))
	testenv.Must(t, os.MkdirAll(p.root.TasksDir("api"), 0o700))
	l, err := task.Open(p.root.TasksDir("api"), "api", task.Options{})
	testenv.Must(t, err)
	_, err = l.Create(t.Context(), task.Task{Subject: "work"})
	testenv.Must(t, err)
	return p
}

// locks are the files that are locked, and the operations that want each lock.
func (p place) locks() map[string][]string {
	return map[string][]string{
		"teams/api/inboxes/tester.json": {"append", "mark"},
		"teams/api/config.json":         {"update", "add"},
		"tasks/api/.lock":               {"create", "claim"},
		"tasks/api/1.json":              {"change", "claim"},
	}
}

func (p place) path(name string) string { return filepath.Join(p.root.Path, filepath.FromSlash(name)) }

// do is one operation, with these options for its lock.
func (p place) do(op string, o task.Options) error {
	ctx := context.Background()
	switch op {
	case "append", "mark":
		b, err := mailbox.Dir{Path: filepath.Dir(p.inbox)}.Open("tester", mailbox.Options{Deadline: o.Deadline, Stale: o.Stale})
		if err != nil || op == "append" {
			return errors.Join(err, b.Append(ctx, mail("sender", 1)))
		}
		list, err := b.Entries(ctx)
		return errors.Join(err, b.MarkRead(ctx, list[0].ID))
	case "update", "add":
		tm, err := team.Open(p.root, "api", team.Options{Deadline: o.Deadline, Stale: o.Stale})
		if err != nil {
			return err
		}
		if op == "add" {
			_, _, err = tm.Add(ctx, team.Member{Name: "other"}, true)
			return err
		}
		return tm.Update(ctx, func(c *team.Config) error { c.Description += "x"; return nil })
	}
	l, err := task.Open(p.root.TasksDir("api"), "api", o)
	if err != nil {
		return err
	}
	switch op {
	case "create":
		_, err = l.Create(ctx, task.Task{Subject: "more"})
	case "claim":
		_, err = l.Claim(ctx, "1", "tester")
	case "change":
		_, err = l.Update(ctx, "1", func(t *task.Task) error { t.Description += "x"; return nil })
	}
	return err
}

// The lock of a dead process of waggle is recovered at once, without a wait for the stale time.
func TestDeadHolderOfOurs(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for name, ops := range p.locks() {
		path := p.path(name)
		for _, op := range ops {
			h := child{Role: "hold", Dir: path}.start(t)
			if line := h.line(); line != "locked" {
				t.Fatalf("%s: %q", path, line)
			}
			testenv.Must(t, h.Process.Kill())
			_ = h.Wait()
			if _, err := os.Lstat(path + ".lock"); err != nil {
				t.Fatalf("%s: the dead holder left no lock: %v", path, err)
			}
			if err := p.do(op, task.Options{Deadline: quick}); err != nil {
				t.Errorf("%s after a dead holder of %s: %v", op, path, err)
			}
		}
	}
}

// The lock of a dead process of another program is recovered when it is as old as that program's stale
// time, and not sooner.
func TestDeadForeignHolder(t *testing.T) {
	t.Parallel()
	for name := range newPlace(t).locks() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			path, ops := p.path(name), p.locks()[name]
			for _, op := range ops {
				h := node(t, "holder.js", path, "10000", "0")
				if line := h.line(); line != "locked" {
					t.Fatalf("%s: %q", path, line)
				}
				testenv.Must(t, h.Process.Kill())
				_ = h.Wait()
				began := time.Now()
				var locked *atomicfile.LockedError
				if err := p.do(op, task.Options{Deadline: 100 * time.Millisecond}); !errors.As(err, &locked) && time.Since(began) < 8*time.Second { // real clock: later, the lock may be stale
					t.Errorf("%s broke a fresh lock of %s: %v", op, path, err)
				}
				if testenv.Soak() {
					testenv.Must(t, p.do(op, task.Options{Deadline: deadline}))
					testenv.Measured(t, "%s after a dead Node holder: waited %v for a stale time of 10 s", op, time.Since(began).Round(100*time.Millisecond))
					continue
				}
				past := time.Now().Add(-11 * time.Second)
				testenv.Must(t, os.Chtimes(path+".lock", past, past))
				if err := p.do(op, task.Options{Deadline: quick}); err != nil {
					t.Errorf("%s after an abandoned lock of %s: %v", op, path, err)
				}
			}
		})
	}
}

// patience returns how long tests wait for live holders, and a stale time that is far shorter.
func patience() (stale, wait time.Duration) {
	if testenv.Soak() {
		return 10 * time.Second, 25 * time.Second
	}
	// A holder in Node renews its lock at half of the stale time: if a busy machine gives it no time
	// for longer than that, another process may take over its lock.
	return 8 * time.Second, 12 * time.Second
}

// The lock of a live holder is never broken, however long it is held: not a foreign one by waggle, not
// one of waggle by others, not one of waggle by waggle.
func TestLiveHolder(t *testing.T) {
	t.Parallel()
	stale, wait := patience()
	ms := fmt.Sprint(stale.Milliseconds())
	holders := map[string]func(t *testing.T, path string) *process{
		"node": func(t *testing.T, path string) *process { return node(t, "holder.js", path, ms, "0") },
		"ours": func(t *testing.T, path string) *process {
			return child{Role: "hold", Dir: path, Count: int(stale.Milliseconds())}.start(t)
		},
	}
	for name, hold := range holders {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			h := hold(t, p.inbox)
			if line := h.line(); line != "locked" {
				t.Fatal(line)
			}
			tries := int(wait / (100 * time.Millisecond))
			other := node(t, "holder.js", p.inbox, ms, fmt.Sprint(tries))
			var locked *atomicfile.LockedError
			if err := p.do("append", task.Options{Stale: stale, Deadline: wait}); !errors.As(err, &locked) {
				t.Errorf("a live lock was broken: %v", err)
			}
			if line := other.line(); line != "ELOCKED" {
				t.Errorf("another program was told %q", line)
			}
			h.in.Close()
			if err := h.Wait(); err != nil {
				t.Errorf("the holder lost its lock: %v", err)
			}
			testenv.Must(t, p.do("append", task.Options{Deadline: deadline}))
		})
	}
}

// Every operation on a held lock gives up at its deadline, and its error names the holder.
func TestEveryAcquireHasADeadline(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	short := task.Options{Deadline: 50 * time.Millisecond, Stale: time.Hour}
	for name, ops := range p.locks() {
		path := p.path(name)
		testenv.Must(t, os.Mkdir(path+".lock", 0o777))
		before, err := os.ReadFile(path)
		testenv.Must(t, err)
		for _, op := range ops {
			var locked *atomicfile.LockedError
			if err := p.do(op, short); !errors.As(err, &locked) || locked.Holder == "" || locked.Path == "" {
				t.Errorf("%s of a locked %s: %v", op, path, err)
			}
		}
		after, err := os.ReadFile(path)
		testenv.Must(t, err)
		if string(before) != string(after) {
			t.Errorf("%s was changed without its lock", path)
		}
		testenv.Must(t, os.Remove(path+".lock"))
	}
	// A reader needs the lock only to repair.
	testenv.Must(t, os.WriteFile(p.inbox, []byte("[{"), 0o600))
	testenv.Must(t, os.Mkdir(p.inbox+".lock", 0o777))
	b, err := mailbox.Dir{Path: filepath.Dir(p.inbox)}.Open("tester", mailbox.Options{Deadline: short.Deadline, Stale: short.Stale})
	testenv.Must(t, err)
	var locked *atomicfile.LockedError
	if _, err := b.Entries(t.Context()); !errors.As(err, &locked) {
		t.Errorf("a repair under a foreign lock: %v", err)
	}
	// The journal's lock, held by another process.
	path := filepath.Join(t.TempDir(), "flock")
	held := child{Role: "flock", Dir: path}.start(t)
	if line := held.line(); line != "locked" {
		t.Fatal(line)
	}
	if _, err := atomicfile.Flock(t.Context(), path, atomicfile.Options{Deadline: short.Deadline, Stale: short.Stale}); !errors.As(err, &locked) {
		t.Errorf("a flock: %v", err)
	}
	testenv.Must(t, held.Process.Kill())
	_ = held.Wait()
	release, err := atomicfile.Flock(t.Context(), path, atomicfile.Options{Deadline: quick})
	testenv.Must(t, err)
	testenv.Must(t, release())
}

// flock holds a flock until it is killed.
func (c child) flock() error {
	_, err := atomicfile.Flock(context.Background(), c.Dir, atomicfile.Options{})
	if err != nil {
		return err
	}
	fmt.Println("locked")
	bufio.NewScanner(os.Stdin).Scan()
	return nil
}
