package journal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/journal/journaltest"
)

// tally is a fold with snapshots. Applied counts the records that were folded and not restored.
type tally struct {
	journaltest.Decisions
	Notes   int
	Seq     journal.Seq
	version string
	applied int
	refuse  bool // Restore fails
}

func (f *tally) FoldVersion() string { return "tally/" + f.version }

func (f *tally) Apply(r journal.Record) error {
	if r.Seq != f.Seq+1 {
		return fmt.Errorf("record %d after %d", r.Seq, f.Seq)
	}
	f.Seq = r.Seq
	f.applied++
	f.Notes += len(r.Body)
	return nil
}

type tallied struct {
	Notes int
	Seq   journal.Seq
}

func (f *tally) Snapshot() ([]byte, error) { return json.Marshal(tallied{f.Notes, f.Seq}) }

func (f *tally) Restore(b []byte) error {
	if f.refuse {
		return errors.New("no")
	}
	var s tallied
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	f.Notes, f.Seq = s.Notes, s.Seq
	return nil
}

var _ journal.Snapshotter = (*tally)(nil)

func snapshots(t *testing.T, d journal.Dir) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(d.Path, "leader", "snapshot-*"))
	must(t, err)
	return names
}

func openTally(t *testing.T, d journal.Dir, f *tally, o journal.Options) *journal.File {
	t.Helper()
	j, err := d.Open(journal.Leader, f, o)
	must(t, err)
	return j
}

// TestSnapshot: Open saves a snapshot after it had to read many lines. The next Open reads only the
// later lines and has the same result.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	d := newDir(t)
	o := quick
	o.Segment, o.SnapshotAfter = 2000, 20
	j := openTally(t, d, &tally{}, o)
	stale := journal.Writer{Instance: "feed", Epoch: 1}
	for i := range 19 {
		journaltest.Append(t, j, journal.Writer{Instance: "feed", Epoch: 2}, journaltest.Note(i))
	}
	openTally(t, d, &tally{}, o)
	if got := snapshots(t, d); got != nil {
		t.Fatalf("a snapshot of 19 records: %v", got)
	}
	want := 0
	for round := range 6 {
		journaltest.Append(t, j, someoneElse, journaltest.Note(100), journaltest.Note(round))
		first := &tally{}
		openTally(t, d, first, o)
		if want = 21; round > 0 {
			want = 2 * round
		}
		if first.applied != want {
			t.Fatalf("round %d: %d records applied, want %d", round, first.applied, want)
		}
		whole := &tally{}
		o := o
		o.SnapshotAfter = -1
		jw := openTally(t, d, whole, o)
		if whole.applied != 21+2*round || first.Notes != whole.Notes || first.Seq != whole.Seq {
			t.Fatalf("restored %+v, whole %+v", first, whole)
		}
		js := openTally(t, d, &tally{}, o)
		if jw.Head() != js.Head() || jw.Seq() != js.Seq() {
			t.Fatal("another head")
		}
	}
	if got := snapshots(t, d); len(got) != 1 {
		t.Fatalf("snapshots: %v", got)
	}
	// A restored fold accepts appends: it has the epochs and the chain.
	f := &tally{}
	j = openTally(t, d, f, o)
	if f.applied > 12 {
		t.Fatalf("%d records applied", f.applied)
	}
	_, err := j.Append(t.Context(), stale, func() ([]journal.Draft, error) { return []journal.Draft{journaltest.Note(1)}, nil })
	if !errors.As(err, new(*journal.StaleError)) {
		t.Errorf("an older epoch after a snapshot: %v", err)
	}
	journaltest.Append(t, j, someoneElse, journaltest.Note(7), journal.Draft{Kind: "large", Body: strings.Repeat("x", 10000)})
	verified(t, d)
	// A fold of another version has a snapshot of its own.
	other := &tally{version: "2"}
	openTally(t, d, other, o)
	if other.applied != int(j.Seq()) || len(snapshots(t, d)) != 2 {
		t.Errorf("another version: %d applied, %v", other.applied, snapshots(t, d))
	}
}

var someoneElse = journal.Writer{Operator: true, PID: 2}

// TestSnapshotUnfit: a snapshot that is changed, cut, of another journal or of
// lines that are not there is not used, and removed. The usual size tries a sample of its
// bytes.
func TestSnapshotUnfit(t *testing.T) {
	t.Parallel()
	d := newDir(t)
	o := quick
	o.SnapshotAfter = 3
	j := openTally(t, d, &tally{}, o)
	for i := range 4 {
		journaltest.Append(t, j, someone, journaltest.Note(i), journaltest.Note(i))
	}
	openTally(t, d, &tally{}, o)
	names := snapshots(t, d)
	if len(names) != 1 {
		t.Fatalf("snapshots: %v", names)
	}
	good, lines := read(t, names[0]), read(t, segment(d, 1))
	check := func(what string, f *tally) {
		t.Helper()
		o := o
		o.SnapshotAfter = 100 // do not save
		openTally(t, d, f, o)
		whole := &tally{}
		o.SnapshotAfter = -1
		openTally(t, d, whole, o)
		if f.applied != whole.applied || f.Notes != whole.Notes {
			t.Fatalf("%s: %+v, want %+v", what, f, whole)
		}
		if got := snapshots(t, d); got != nil {
			t.Fatalf("%s: still there", what)
		}
		write(t, names[0], good)
		write(t, segment(d, 1), lines)
	}
	first, step := testenv.Sample(t, 8)
	for off := first; off < len(good); off += step {
		for _, mask := range []byte{1, 0x20} {
			b := bytes.Clone(good)
			b[off] ^= mask
			write(t, names[0], b)
			check(fmt.Sprint("byte ", off, " changed"), &tally{})
		}
		write(t, names[0], good[:off])
		check("cut", &tally{})
	}
	check("Restore fails", &tally{refuse: true})
	write(t, segment(d, 1), bytes.Join(bytes.SplitAfter(lines, []byte("\n"))[:6], nil))
	forget(t, d)
	check("of lines that are gone", &tally{})
	other := newDir(t)
	other.UID = "other"
	jo, err := other.Open(journal.Leader, nil, o)
	must(t, err)
	for i := range 4 {
		journaltest.Append(t, jo, someone, journaltest.Note(i), journaltest.Note(i))
	}
	must(t, os.Rename(names[0], filepath.Join(other.Path, "leader", filepath.Base(names[0]))))
	f := &tally{}
	_, err = other.Open(journal.Leader, f, o)
	must(t, err)
	if f.applied != 8 {
		t.Errorf("the snapshot of another journal was used: %+v", f)
	}
}

// TestSnapshotOfAnotherFold: the state of a fold of another version or of other types is not
// restored, whatever its file's name, and the file is removed.
func TestSnapshotOfAnotherFold(t *testing.T) {
	t.Parallel()
	d := newDir(t)
	o := quick
	o.SnapshotAfter = 3
	j := openTally(t, d, &tally{}, o)
	for i := range 4 {
		journaltest.Append(t, j, someone, journaltest.Note(i))
	}
	openTally(t, d, &tally{}, o)
	first := snapshots(t, d)
	openTally(t, d, &tally{version: "2"}, o)
	both := snapshots(t, d)
	if len(first) != 1 || len(both) != 2 {
		t.Fatalf("snapshots %v, then %v", first, both)
	}
	second := both[0]
	if second == first[0] {
		second = both[1]
	}
	write(t, second, read(t, first[0]))
	o.SnapshotAfter = 100 // do not save
	f := &tally{version: "2"}
	openTally(t, d, f, o)
	if f.applied != 4 {
		t.Errorf("%d records were applied, want all 4: the state of another fold was restored", f.applied)
	}
	if got := snapshots(t, d); !slices.Equal(got, first) {
		t.Errorf("left %v, want %v", got, first)
	}
}

// TestSnapshotHides: only a reader that ignores the snapshot checks the lines before it.
func TestSnapshotHides(t *testing.T) {
	t.Parallel()
	d := newDir(t)
	o := quick
	o.SnapshotAfter = 3
	j := openTally(t, d, &tally{}, o)
	for i := range 4 {
		journaltest.Append(t, j, someone, journaltest.Note(i))
	}
	openTally(t, d, &tally{}, o)
	b := read(t, segment(d, 1))
	b[10] ^= 1
	write(t, segment(d, 1), b)
	openTally(t, d, &tally{}, o)
	o.SnapshotAfter = -1
	_, err := d.Open(journal.Leader, &tally{}, o)
	breakAt(t, err, "00000001.jsonl", 1, 1)
}
