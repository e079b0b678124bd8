package control_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/journal"
)

// TestSnapshotOfAnother: a snapshot of other types, of another version or format, or an empty one
// is refused, and the fold stays fresh.
func TestSnapshotOfAnother(t *testing.T) {
	w := aLife(t)
	leader, err := w.l.Snapshot()
	w.must(err)
	worker, err := w.members[0].w.Snapshot()
	w.must(err)
	brief, err := folded(t, control.NewBrief(nil), w.mem.Records()).Snapshot()
	w.must(err)
	read := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		w.must(err)
		return b
	}
	refused := func(what string, b []byte, f journal.Snapshotter) {
		t.Helper()
		before := f.FoldVersion()
		if f.Restore(b) == nil {
			t.Errorf("%s: it is restored", what)
		}
		var fresh journal.Snapshotter = control.NewWorker(nil)
		if strings.HasPrefix(before, "leader, brief") {
			fresh = control.NewBrief(nil)
		} else if strings.HasPrefix(before, "leader") {
			fresh = control.NewLeader(nil)
		}
		if d := cmp.Diff(fresh, f, sameFold); d != "" {
			t.Errorf("%s: the fold has changed: %s", what, d)
		}
	}
	refused("a worker's in a leader", worker, control.NewLeader(nil))
	refused("a leader's in a worker", leader, control.NewWorker(nil))
	refused("all in brief", leader, control.NewBrief(nil))
	refused("brief in all", brief, control.NewLeader(nil))
	refused("the former form, leader", read("former-leader.snapshot"), control.NewLeader(nil))
	refused("the former form, worker", read("former-worker.snapshot"), control.NewWorker(nil))
	for n := range 400 {
		refused("zeros", make([]byte, n), control.NewLeader(nil))
		refused("zeros", make([]byte, n), control.NewWorker(nil))
	}
	// The same state under another version of the fold, of the form and of the types.
	version := w.l.FoldVersion()
	for i := range version {
		other := bytes.Clone(leader)
		at := bytes.Index(other, []byte(version))
		if at < 0 {
			t.Fatal("a snapshot does not say its version")
		}
		other[at+i] ^= 1
		refused("version "+string(other[at:at+len(version)]), other, control.NewLeader(nil))
	}
}

// former is a fold whose snapshots are those of a program of before.
type former struct {
	*control.Leader
	state []byte
}

func (f former) Snapshot() ([]byte, error) { return f.state, nil }

// TestFormerSnapshot: a snapshot that cannot be read is taken away, every line is read,
// and the fold is the same.
func TestFormerSnapshot(t *testing.T) {
	state, err := os.ReadFile(filepath.Join("testdata", "former-leader.snapshot"))
	testenv.Must(t, err)
	d := journal.Dir{Path: t.TempDir(), UID: string(uid)}
	testenv.Must(t, os.Chmod(d.Path, 0o700))
	o := journal.Options{SnapshotAfter: -1, Sync: func(*os.File) error { return nil }}
	j, err := d.Open(journal.Leader, nothing{}, o)
	testenv.Must(t, err)
	for _, r := range history(t, 20) {
		if _, err := j.Append(context.Background(), r.Writer, func() ([]journal.Draft, error) {
			return []journal.Draft{{Kind: r.Kind, Must: r.Must, Body: r.Body}}, nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	open := func(f journal.Fold, after int) {
		t.Helper()
		_, err := d.Open(journal.Leader, f, journal.Options{SnapshotAfter: after})
		testenv.Must(t, err)
	}
	saved := func() string {
		t.Helper()
		names, err := filepath.Glob(filepath.Join(d.Path, "leader", "snapshot-*"))
		if err != nil || len(names) != 1 {
			t.Fatalf("%d snapshots, %v", len(names), err)
		}
		b, err := os.ReadFile(names[0])
		testenv.Must(t, err)
		return string(b)
	}
	whole := control.NewLeader(nil)
	open(whole, -1)
	open(former{control.NewLeader(nil), state}, 1)
	if !strings.HasSuffix(saved(), string(state)) {
		t.Fatal("the former snapshot is not there")
	}
	again := control.NewLeader(nil)
	open(again, 1)
	if diff := cmp.Diff(whole, again, sameFold); diff != "" {
		t.Errorf("rebuilt: %s", diff)
	}
	if strings.HasSuffix(saved(), string(state)) {
		t.Error("the former snapshot is still there")
	}
	fromIt := control.NewLeader(nil)
	open(fromIt, 1)
	if diff := cmp.Diff(whole, fromIt, sameFold); diff != "" {
		t.Errorf("from the new snapshot: %s", diff)
	}
}
