package home_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waggle/control"
	"waggle/home"
	"waggle/internal/test/testenv"
	"waggle/journal"
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
			testenv.Must(t, release())
		}
	}
	take(true)
	other, err := spawn.Identify(os.Getppid())
	testenv.Must(t, err)
	note := func(id spawn.Identity) {
		t.Helper()
		testenv.Must(t, d.NoteStarted(home.Started{Team: "api", Root: "file:///a", Name: protocol.Lead, ID: id}))
	}
	note(other)
	for _, damage := range []func() error{
		func() error { return os.Remove(d.LeaderLease()) },
		func() error { return errors.Join(os.Remove(d.LeaderLease()), os.Mkdir(d.LeaderLease(), 0o700)) },
		func() error {
			return errors.Join(os.Remove(d.LeaderLease()), os.Symlink("/nowhere", d.LeaderLease()))
		},
	} {
		testenv.Must(t, damage())
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
	testenv.Must(t, err)
	note(self)
	take(true) // the process on record is this one
	testenv.Must(t, d.LeftLead())
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
	testenv.Must(t, os.MkdirAll(filepath.Join(path, "full"), 0o700))
	self, err := spawn.Identify(os.Getpid())
	testenv.Must(t, err)
	testenv.Must(t, d.NoteStarted(home.Started{Team: "api", Root: "file:///a", Instance: "ann", Name: "ann", ID: self}))
	if all, err := d.Started(); err != nil || len(all) != 1 || all[0].ID != self {
		t.Errorf("started: %v, %v", all, err)
	}
	if kept, err := os.ReadDir(d.Quarantine()); errors.Is(err, fs.ErrNotExist) || len(kept) != 1 {
		t.Errorf("set aside %v, %v", kept, err)
	}
}

// TestBrokenIsNotNobody: a journal whose first line cannot be read is found by the other sources
// for its team. Without any, that is an error which names the directory, and never "there is no
// such team".
func TestBrokenIsNotNobody(t *testing.T) {
	h := home.Home{Path: filepath.Join(t.TempDir(), "state")}
	d := open(t, h, "file:///a", "api", "uid-1", time.Now())
	segment := filepath.Join(d.LeaderJournal(), "00000001.jsonl")
	good, err := os.ReadFile(segment)
	testenv.Must(t, err)
	for what, damage := range map[string]func() error{
		"garbage": func() error { return os.WriteFile(segment, []byte("garbage\n"), 0o600) },
		"empty":   func() error { return os.WriteFile(segment, nil, 0o600) },
		"changed": func() error {
			return os.WriteFile(segment, []byte(strings.Replace(string(good), "uid-1", "uid-7", 1)), 0o600)
		},
		"directory": func() error { return errors.Join(os.Remove(segment), os.Mkdir(segment, 0o700)) },
	} {
		testenv.Must(t, damage())
		if got, err := h.Find("file:///a", "api"); err != nil || len(got) != 1 || got[0] != d {
			t.Errorf("%s: found %v, %v", what, got, err)
		}
		if what == "changed" {
			continue // without its own file it is a directory that was moved
		}
		identity, err := os.ReadFile(d.Identity())
		testenv.Must(t, err)
		testenv.Must(t, os.Remove(d.Identity()))
		got, err := h.Find("file:///a", "api")
		if broken, ok := errors.AsType[*home.BrokenError](err); !ok || broken.Path != d.Path || len(got) != 0 {
			t.Errorf("%s, and nothing else: found %v, %v", what, got, err)
		}
		known, err := h.List()
		if err != nil || len(known) != 1 || known[0].Broken == nil || known[0].Team != "api" {
			t.Errorf("%s: listed %+v, %v", what, known, err)
		}
		testenv.Must(t, os.WriteFile(d.Identity(), identity, 0o600))
		testenv.Must(t, os.RemoveAll(segment))
		testenv.Must(t, os.WriteFile(segment, good, 0o600))
	}
}

// TestOpenJournal: a leader's journal of which nothing is left is broken: when its last line was certain,
// or processes of the team have run. Without either it is that of a team that nobody has made.
func TestOpenJournal(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		certain, begun, gone bool
		broken               bool
	}{
		"emptied": {certain: true, broken: true}, "removed": {certain: true, gone: true, broken: true},
		"emptied, and processes ran": {begun: true, broken: true}, "removed, and processes ran": {begun: true, gone: true, broken: true},
		"emptied, and nothing says more": {}, "removed, and nothing says more": {gone: true},
	} {
		h := home.Home{Path: filepath.Join(t.TempDir(), "state")}
		d := open(t, h, "file:///a", "api", "uid-1", time.Now())
		if !tt.certain {
			testenv.Must(t, os.Remove(filepath.Join(d.LeaderJournal(), journal.CertainName)))
		}
		if tt.begun {
			testenv.Must(t, d.NoteStarted(home.Started{Team: "api", Root: "file:///a", ID: spawn.Identity{PID: os.Getpid()}}))
		}
		segment := filepath.Join(d.LeaderJournal(), "00000001.jsonl")
		if testenv.Must(t, os.Truncate(segment, 0)); tt.gone {
			testenv.Must(t, os.Remove(segment))
		}
		if found, err := h.Find("file:///a", "api"); (tt.certain || tt.begun && !tt.gone) && (err != nil || len(found) != 1 || found[0] != d) {
			t.Errorf("%s: found %v, %v", name, found, err)
		}
		_, err := d.OpenJournal(journal.Leader, control.NewLeader(nil), journal.Options{})
		if b := new(journal.BrokenError); errors.As(err, &b) != tt.broken || tt.broken && (b.Line != 1 || b.Seq != 1) || !tt.broken && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestHalfOpened: a process that makes a team may be stopped in the middle of its first record.
// There is no team then, whatever other sources name the directory.
func TestHalfOpened(t *testing.T) {
	h := home.Home{Path: filepath.Join(t.TempDir(), "state")}
	d := open(t, h, "file:///a", "api", "uid-1", time.Now())
	segment := filepath.Join(d.LeaderJournal(), "00000001.jsonl")
	good, err := os.ReadFile(segment)
	testenv.Must(t, err)
	testenv.Must(t, os.WriteFile(d.Making(), []byte("file:///a\n"), 0o600))
	for _, n := range []int{0, 1, len(good) / 2, bytes.IndexByte(good, '\n') - 1} {
		testenv.Must(t, os.WriteFile(segment, good[:n], 0o600))
		if got, err := h.Find("file:///a", "api"); err != nil || len(got) != 0 {
			t.Errorf("%d bytes: found %v, %v", n, got, err)
		}
	}
	testenv.Must(t, os.WriteFile(segment, good, 0o600))
	if got, err := h.Find("file:///a", "api"); err != nil || len(got) != 1 {
		t.Errorf("the whole record: found %v, %v", got, err)
	}
}
