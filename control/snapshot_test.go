package control_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/policy"
	"waggle/record"
)

// kept is a fold that went through its snapshot, which fresh is read from.
func kept[F journal.Snapshotter](t tb, f, fresh F) F {
	t.Helper()
	b, err := f.Snapshot()
	testenv.Must(t, err)
	testenv.Must(t, fresh.Restore(b))
	if again, err := fresh.Snapshot(); err != nil || !bytes.Equal(again, b) {
		t.Fatalf("the snapshot of what was restored is another: %v", err)
	}
	return fresh
}

func keptLeader(t tb, l *control.Leader) *control.Leader { return kept(t, l, control.NewLeader(nil)) }
func keptWorker(t tb, w *control.Worker) *control.Worker { return kept(t, w, control.NewWorker(nil)) }

// aLife is a team with something of everything on record.
func aLife(t *testing.T) *world {
	t.Helper()
	w, m := working(t, record.PolicySet{Decide: record.Deciders{policy.GateTool: policy.DecideLeader}, Deadline: 1000_000, Lead: &policy.Policy{Allow: policy.MustRules("Read")}}, false)
	bob := w.join("bob", true)
	one, two, three := m.ask(tool, bash), m.ask(host, record.Ask{Host: "x.org", Port: "443"}), m.ask(tool, record.Ask{Tool: "Bash", Input: `{"command":"make"}`, Cwd: "/work"})
	w.round()
	w.decide(verdict(w.request(one), true), operator)
	w.escalate(w.request(three), policy.RoleLeader, w.lead())
	w.round()
	testenv.Must(t, m.start(one))
	m.finish(one)
	w.decide(verdict(w.request(two), false), operator) // not delivered yet
	w.setMode(bob, policy.ModePlan, policy.RoleOperator, operator)
	w.shutdown(bob, policy.RoleOperator)
	w.round()
	bob.answer(true)
	w.assign(m, record.Task{ID: "9", Instructions: "more"})
	m.box.put(envelope("team-lead", `{"type":"shutdown_request","requestId":"s","from":"team-lead"}`), true)
	w.box.put(envelope("ada", `{"type":"idle_notification","from":"ada"}`), true)
	w.round()
	return w
}

// TestSnapshots: a fold that went through its snapshot equals the original, and later records have
// the same effect.
func TestSnapshots(t *testing.T) {
	w := aLife(t)
	l := keptLeader(t, w.l)
	if d := cmp.Diff(w.l, l, sameFold); d != "" {
		t.Errorf("leader: %s", d)
	}
	for _, m := range w.members {
		if d := cmp.Diff(m.w, keptWorker(t, m.w), sameFold); d != "" {
			t.Errorf("%s: %s", m.name, d)
		}
	}
	// At every record: the first part through a snapshot, then the rest.
	for _, j := range []struct {
		recs  []journal.Record
		whole journal.Fold
		cut   func([]journal.Record) journal.Fold
	}{
		{w.mem.Records(), w.l, func(recs []journal.Record) journal.Fold {
			return keptLeader(t, folded(t, control.NewLeader(nil), recs))
		}},
		{w.members[0].mem.Records(), w.members[0].w, func(recs []journal.Record) journal.Fold {
			return keptWorker(t, folded(t, control.NewWorker(nil), recs))
		}},
	} {
		for n := range j.recs {
			if d := cmp.Diff(j.whole, folded(t, j.cut(j.recs[:n]), j.recs[n:]), sameFold); d != "" {
				t.Fatalf("cut at %d of %d: %s", n, len(j.recs), d)
			}
		}
	}
}

// TestSnapshotIsNotTrusted: a snapshot that is cut, changed or of another fold restores nothing and
// does no harm; a fold that has failed has none.
func TestSnapshotIsNotTrusted(t *testing.T) {
	w := aLife(t)
	b, err := w.l.Snapshot()
	w.must(err)
	own, err := w.members[0].w.Snapshot()
	w.must(err)
	try := func(what string, b []byte) {
		l := control.NewLeader(nil)
		if err := l.Restore(b); err == nil {
			return // another state of the same form: the journal's checksum is there for that
		}
		if d := cmp.Diff(control.NewLeader(nil), l, sameFold); d != "" {
			t.Errorf("%s: the fold is not as fresh as before", what)
		}
	}
	for n := 0; n < len(b); n += 1 + len(b)/400 {
		if l := control.NewLeader(nil); l.Restore(b[:n]) == nil {
			t.Errorf("cut at %d it is restored", n)
		}
		try("cut", b[:n])
		for _, x := range []byte{1, 0x80, 0xff} {
			c := bytes.Clone(b)
			c[n] ^= x
			try("changed", c)
		}
	}
	if control.NewLeader(nil).Restore(own) == nil && control.NewLeader(nil).Restore(append(bytes.Clone(b), 0)) == nil {
		t.Error("more than a snapshot is one")
	}
	if err := w.l.Apply(recordOf(t, 999, record.KindPolicy, operator, record.PolicySet{})); err == nil {
		t.Fatal("a bad record was taken")
	}
	if _, err := w.l.Snapshot(); err == nil {
		t.Error("a failed fold has a snapshot")
	}
}

// TestFoldVersion: the same records fold to the same state as before, or the fold has a new
// version, so that an old snapshot is never restored into another type. A changed type gets a new
// version automatically, and this file is then written again.
func TestFoldVersion(t *testing.T) {
	w := aLife(t)
	leader, err := w.l.Snapshot()
	w.must(err)
	own, err := w.members[0].w.Snapshot()
	w.must(err)
	sum := func(b []byte) string { s := sha256.Sum256(b); return hex.EncodeToString(s[:8]) }
	got := fmt.Sprintf("%s: %s\n%s: %s\n", w.l.FoldVersion(), sum(leader), w.members[0].w.FoldVersion(), sum(own))
	const path = "testdata/folds.txt"
	if *update {
		w.must(os.WriteFile(path, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	w.must(err)
	if got == string(want) {
		return
	}
	versions := func(s string) (vs []string) {
		for line := range strings.Lines(s) {
			v, _, _ := strings.Cut(line, ":")
			vs = append(vs, v)
		}
		return vs
	}
	if cmp.Equal(versions(got), versions(string(want))) {
		t.Errorf("the same records fold to something else, and the version is the same: raise it in snapshot.go, then run with -update\n%s", cmp.Diff(string(want), got))
		return
	}
	t.Errorf("the folds have new versions, so that old snapshots are not used: run with -update to have this guarded again\n%s", cmp.Diff(string(want), got))
}

// TestPending100k: after 100,000 decisions the list of what is open is there at
// once. Without a snapshot everything is read, which is the same list.
func TestPending100k(t *testing.T) {
	n := testenv.Scale(1_000, 100_000)
	d := journal.Dir{Path: t.TempDir(), UID: string(uid)}
	testenv.Must(t, os.Chmod(d.Path, 0o700))
	fast := journal.Options{Sync: func(*os.File) error { return nil }, SnapshotAfter: -1}
	j, err := d.Open(journal.Leader, nothing{}, fast)
	testenv.Must(t, err)
	recs := history(t, n)
	k := record.Key{Instance: "i", Kind: tool, ID: "perm-open"}
	recs = append(recs, recordOf(t, 0, record.KindSeen, journal.Writer{Instance: "lead", Epoch: 1}, record.Seen{Entry: "open", Ref: 1 << 40, Instance: "i", Kind: tool, ID: k.ID, Digest: record.DigestOf(uid, k, bash), Ask: &bash}))
	for len(recs) > 0 { // by runs of one writer
		m := 1
		for m < len(recs) && m < 500 && recs[m].Writer == recs[0].Writer {
			m++
		}
		if _, err := j.Append(t.Context(), recs[0].Writer, func() (ds []journal.Draft, _ error) {
			for _, r := range recs[:m] {
				ds = append(ds, journal.Draft{Kind: r.Kind, Must: r.Must, Body: r.Body})
			}
			return ds, nil
		}); err != nil {
			t.Fatal(err)
		}
		recs = recs[m:]
	}
	took := map[string]time.Duration{}
	open := func(what string, fold *control.Leader, o journal.Options) {
		began := time.Now()
		if _, err := d.Open(journal.Leader, fold, o); err != nil {
			t.Fatal(err)
		}
		if p := fold.Pending(); len(p) != 1 || p[0].Key != k {
			t.Errorf("%s: %d open", what, len(p))
		}
		took[what] = time.Since(began).Round(100 * time.Microsecond)
	}
	snap := journal.Options{SnapshotAfter: 100}
	open("everything read", control.NewLeader(nil), journal.Options{SnapshotAfter: -1})
	open("all, and its snapshot is made", control.NewLeader(nil), snap)
	open("all, from its snapshot", control.NewLeader(nil), snap)
	open("what is open, and its snapshot is made", control.NewBrief(nil), snap)
	open("what is open, from its snapshot", control.NewBrief(nil), snap)
	testenv.Measured(t, "open questions after %d decisions: %v", n, took)
}

type nothing struct{}

func (nothing) Apply(journal.Record) error { return nil }
