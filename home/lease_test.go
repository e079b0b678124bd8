package home_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"waggle/home"
	"waggle/protocol"
	"waggle/spawn"
)

// TestTryLead: a process that has recorded beside the journal that it leads keeps the lead while it
// runs, although the file of its lease was removed or replaced. After it has released the lead, or
// has ended, the lease is free. A file at the lease's path that is not regular is kept.
func TestTryLead(t *testing.T) {
	d := open(t, home.Home{Path: filepath.Join(t.TempDir(), "state")}, "file:///a", "api", "uid", time.Now())
	take := func(want bool) {
		t.Helper()
		release, held, err := d.TryLead()
		if err != nil || held != want {
			t.Fatalf("held %v, %v; want %v", held, err, want)
		}
		if held {
			must(t, release())
		}
	}
	take(true)
	other, err := spawn.Identify(os.Getppid())
	must(t, err)
	note := func(id spawn.Identity) {
		t.Helper()
		must(t, d.NoteStarted(home.Started{Team: "api", Root: "file:///a", Name: protocol.Lead, ID: id}))
	}
	note(other)
	for _, damage := range []func() error{
		func() error { return os.Remove(d.LeaderLease()) },
		func() error { return errors.Join(os.Remove(d.LeaderLease()), os.Mkdir(d.LeaderLease(), 0o700)) },
		func() error {
			return errors.Join(os.Remove(d.LeaderLease()), os.Symlink("/nowhere", d.LeaderLease()))
		},
	} {
		must(t, damage())
		take(false)
	}
	if kept, err := os.ReadDir(d.Quarantine()); err != nil || len(kept) != 2 {
		t.Errorf("set aside %v, %v", kept, err)
	}
	dead := other
	dead.Start += "1"
	note(dead)
	take(true)
	self, err := spawn.Identify(os.Getpid())
	must(t, err)
	note(self)
	take(true) // the process on record is this one
	must(t, d.LeftLead())
	if all, err := d.Started(); err != nil || len(all) != 0 {
		t.Errorf("started: %v, %v", all, err)
	}
	note(other)
	if err := d.LeftLead(); err != nil { // not ours
		t.Fatal(err)
	}
	take(false)
}

// TestNoteStartedAside: a file at the path of a record that is not regular does not prevent the
// record of a start.
func TestNoteStartedAside(t *testing.T) {
	d := open(t, home.Home{Path: filepath.Join(t.TempDir(), "state")}, "file:///a", "api", "uid", time.Now())
	path := filepath.Join(d.Path, "started", "ann.json")
	must(t, os.MkdirAll(filepath.Join(path, "full"), 0o700))
	self, err := spawn.Identify(os.Getpid())
	must(t, err)
	must(t, d.NoteStarted(home.Started{Team: "api", Root: "file:///a", Instance: "ann", Name: "ann", ID: self}))
	if all, err := d.Started(); err != nil || len(all) != 1 || all[0].ID != self {
		t.Errorf("started: %v, %v", all, err)
	}
	if kept, err := os.ReadDir(d.Quarantine()); errors.Is(err, fs.ErrNotExist) || len(kept) != 1 {
		t.Errorf("set aside %v, %v", kept, err)
	}
}
