package journal_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"waggle/journal"
	"waggle/journal/journaltest"
)

// retally is a tally that can be made again.
type retally struct {
	tally
	resets, restores int
	refuse           string // a kind
}

func (f *retally) Apply(r journal.Record) error {
	if r.Kind == f.refuse && f.refuse != "" {
		return errChoosy
	}
	return f.tally.Apply(r)
}
func (f *retally) Reset() {
	f.resets++
	f.Notes, f.Seq, f.applied = 0, 0, 0
}
func (f *retally) Hold()                     {}
func (f *retally) Keep()                     {}
func (f *retally) MaySetAside(k string) bool { return false }
func (f *retally) Restore(b []byte) error    { f.restores++; return f.tally.Restore(b) }

var _ journal.Tentative = (*retally)(nil)

// snapped is a journal of n records with a snapshot of all of them.
func snapped(t *testing.T, n int) (d journal.Dir, o journal.Options, snapshot string) {
	t.Helper()
	d, o = newDir(t), quick
	o.SnapshotAfter = 3
	notes(t, openFold(t, d, &tally{}, o), n)
	return d, o, snap(t, d, o)
}

// snap opens a journal, which saves its one snapshot.
func snap(t *testing.T, d journal.Dir, o journal.Options) string {
	t.Helper()
	openFold(t, d, &tally{}, o)
	names := snapshots(t, d)
	if len(names) != 1 {
		t.Fatalf("snapshots: %v", names)
	}
	return names[0]
}

// summed is a snapshot file whose sum fits.
func summed(head, state []byte) []byte {
	rest := bytes.Join([][]byte{head, state}, []byte("\n"))
	sum := sha256.Sum256(rest)
	return append([]byte(hex.EncodeToString(sum[:])+"\n"), rest...)
}

// TestCheckSnapshot: a snapshot that is what the journal folds to at its record is right; one that
// was changed, that is of another state or of a record that the journal lacks is an error, and
// none and a broken journal are not.
func TestCheckSnapshot(t *testing.T) {
	d, o, path := snapped(t, 6)
	good := read(t, path)
	parts := bytes.SplitN(good, []byte("\n"), 3)
	var h map[string]any
	must(t, json.Unmarshal(parts[1], &h))
	of := func(seq int) []byte {
		h["seq"] = seq
		b, err := json.Marshal(h)
		must(t, err)
		return b
	}
	for what, c := range map[string]struct {
		file []byte
		want string // in the error; "": it is right
	}{
		"right":                {good, ""},
		"a byte":               {flipped(good, len(good)-1), "does not have its sum"},
		"no sum":               {parts[2], "does not have its sum"},
		"empty":                {nil, "does not have its sum"},
		"no head":              {summed([]byte("{"), parts[2]), "snapshot-"},
		"another state":        {summed(parts[1], []byte(`{"Notes":1,"Seq":6}`)), "is not what the journal folds to at seq 6"},
		"the state of another": {summed(of(5), parts[2]), "is not what the journal folds to at seq 5"},
		"of a record to come":  {summed(of(7), parts[2]), "is of seq 7, and the journal ends at 6"},
	} {
		write(t, path, c.file)
		for name, fold := range map[string]journal.Snapshotter{"once": &tally{}, "tentative": &retally{}} {
			there, err := d.CheckSnapshot(journal.Leader, fold, o)
			if !there || (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %s: there %v, %v; want %q", what, name, there, err, c.want)
			}
		}
	}
	write(t, path, good)
	journaltest.Append(t, openFold(t, d, &tally{}, o), someone, journaltest.Note(7)) // behind the snapshot
	if there, err := d.CheckSnapshot(journal.Leader, &tally{}, o); !there || err != nil {
		t.Errorf("a journal that goes on: there %v, %v", there, err)
	}
	if there, err := d.CheckSnapshot(journal.Leader, &tally{version: "2"}, o); there || err != nil {
		t.Errorf("a fold without a snapshot: there %v, %v", there, err)
	}
	if there, err := d.CheckSnapshot("nobody", &tally{}, o); there || err != nil {
		t.Errorf("no journal: there %v, %v", there, err)
	}
	write(t, segment(d, 1), flipped(read(t, segment(d, 1)), 20))
	if there, err := d.CheckSnapshot(journal.Leader, &tally{}, o); !there || err != nil {
		t.Errorf("a broken journal: there %v, %v", there, err)
	}
	must(t, os.Remove(path))
	must(t, os.Mkdir(path, 0o700))
	if there, err := d.CheckSnapshot(journal.Leader, &tally{}, o); !there || err == nil {
		t.Errorf("a directory in its place: there %v, %v", there, err)
	}
}

// TestRebuildRestores: a fold that is made again after a refused draft and after a preview begins
// at the snapshot, not at the first line.
func TestRebuildRestores(t *testing.T) {
	d, o, _ := snapped(t, 6)
	fold := &retally{refuse: "bad"}
	j := openFold(t, d, fold, o)
	if fold.applied != 0 || fold.restores != 1 {
		t.Fatalf("%d applied, restored %d times", fold.applied, fold.restores)
	}
	journaltest.Append(t, j, someone, journaltest.Note(7))
	_, err := j.Append(t.Context(), someone, func() ([]journal.Draft, error) { return []journal.Draft{{Kind: "bad"}}, nil })
	if !errors.Is(err, errChoosy) || fold.resets != 1 || fold.restores != 2 || fold.applied != 1 || fold.Seq != 7 {
		t.Errorf("after a refusal: %v; %d resets, restored %d times, %d applied, seq %d", err, fold.resets, fold.restores, fold.applied, fold.Seq)
	}
	_, err = j.Preview().Append(t.Context(), someone, func() ([]journal.Draft, error) { return []journal.Draft{{Kind: "x"}}, nil })
	must(t, err)
	refresh(t, j)
	if fold.resets != 2 || fold.restores != 3 || fold.applied != 1 || fold.Seq != 7 {
		t.Errorf("after a preview: %d resets, restored %d times, %d applied, seq %d", fold.resets, fold.restores, fold.applied, fold.Seq)
	}
}

// lenient is a retally that lets records of one kind be left out.
type lenient struct{ retally }

func (f *lenient) MaySetAside(kind string) bool { return kind == f.refuse }

// Apply takes records with gaps: one was left out.
func (f *lenient) Apply(r journal.Record) error {
	if r.Kind == f.refuse {
		return errChoosy
	}
	f.Seq = r.Seq
	return nil
}

// TestNoSnapshotWithoutARecord: while a record is left out that no repaired record names, no
// snapshot is saved; once it is named, one is.
func TestNoSnapshotWithoutARecord(t *testing.T) {
	d := newDir(t)
	o := quick
	o.SnapshotAfter = 1
	j := openFold(t, d, nil, o)
	journaltest.Append(t, j, someone, journaltest.Note(1), journal.Draft{Kind: "bad"}, journaltest.Note(2))
	fold := &lenient{retally{refuse: "bad"}}
	k := openFold(t, d, fold, o)
	if len(k.Aside()) != 1 || snapshots(t, d) != nil {
		t.Errorf("left out %v, snapshots %v", k.Aside(), snapshots(t, d))
	}
	journaltest.Append(t, k, someone, journaltest.Note(3))
	again, err := d.Open(journal.Leader, &lenient{retally{refuse: "bad"}}, o)
	must(t, err)
	if len(again.Aside()) != 1 || len(snapshots(t, d)) != 1 {
		t.Errorf("named: left out %v, snapshots %v", again.Aside(), snapshots(t, d))
	}
}
