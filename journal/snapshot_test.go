package journal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
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

// TestSnapshot: Open saves a snapshot after it had to read many lines. The next Open reads only the
// later lines and has the same result.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	d := newDir(t)
	o := quick
	o.Segment, o.SnapshotAfter = 2000, 20
	j := openFold(t, d, &tally{}, o)
	stale := journal.Writer{Instance: "feed", Epoch: 1}
	for i := range 19 {
		journaltest.Append(t, j, journal.Writer{Instance: "feed", Epoch: 2}, journaltest.Note(i))
	}
	openFold(t, d, &tally{}, o)
	if got := snapshots(t, d); got != nil {
		t.Fatalf("a snapshot of 19 records: %v", got)
	}
	want := 0
	for round := range 6 {
		journaltest.Append(t, j, someoneElse, journaltest.Note(100), journaltest.Note(round))
		first := &tally{}
		openFold(t, d, first, o)
		if want = 21; round > 0 {
			want = 2 * round
		}
		if first.applied != want {
			t.Fatalf("round %d: %d records applied, want %d", round, first.applied, want)
		}
		whole := &tally{}
		o := o
		o.SnapshotAfter = -1
		jw := openFold(t, d, whole, o)
		if whole.applied != 21+2*round || first.Notes != whole.Notes || first.Seq != whole.Seq {
			t.Fatalf("restored %+v, whole %+v", first, whole)
		}
		js := openFold(t, d, &tally{}, o)
		if jw.Head() != js.Head() || jw.Seq() != js.Seq() {
			t.Fatal("another head")
		}
	}
	if got := snapshots(t, d); len(got) != 1 {
		t.Fatalf("snapshots: %v", got)
	}
	// A restored fold accepts appends: it has the epochs and the chain.
	f := &tally{}
	j = openFold(t, d, f, o)
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
	openFold(t, d, other, o)
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
	j := openFold(t, d, &tally{}, o)
	for i := range 4 {
		journaltest.Append(t, j, someone, journaltest.Note(i), journaltest.Note(i))
	}
	path := snap(t, d, o)
	good, lines := read(t, path), read(t, segment(d, 1))
	check := func(what string, f *tally) {
		t.Helper()
		o := o
		o.SnapshotAfter = 100 // do not save
		openFold(t, d, f, o)
		whole := &tally{}
		o.SnapshotAfter = -1
		openFold(t, d, whole, o)
		if f.applied != whole.applied || f.Notes != whole.Notes {
			t.Fatalf("%s: %+v, want %+v", what, f, whole)
		}
		if got := snapshots(t, d); got != nil {
			t.Fatalf("%s: still there", what)
		}
		write(t, path, good)
		write(t, segment(d, 1), lines)
	}
	first, step := testenv.Sample(t, 8)
	for off := first; off < len(good); off += step {
		for _, mask := range []byte{1, 0x20} {
			b := bytes.Clone(good)
			b[off] ^= mask
			write(t, path, b)
			check(fmt.Sprint("byte ", off, " changed"), &tally{})
		}
		write(t, path, good[:off])
		check("cut", &tally{})
	}
	check("Restore fails", &tally{refuse: true})
	write(t, segment(d, 1), bytes.Join(bytes.SplitAfter(lines, []byte("\n"))[:6], nil))
	forget(t, d)
	check("of lines that are gone", &tally{})
	other := newDir(t)
	other.UID = "other"
	jo := openFold(t, other, nil, o)
	for i := range 4 {
		journaltest.Append(t, jo, someone, journaltest.Note(i), journaltest.Note(i))
	}
	must(t, os.Rename(path, filepath.Join(other.Path, "leader", filepath.Base(path))))
	f := &tally{}
	_, err := other.Open(journal.Leader, f, o)
	must(t, err)
	if f.applied != 8 {
		t.Errorf("the snapshot of another journal was used: %+v", f)
	}
}

// TestSnapshotOfAnotherFold: the state of a fold of another version or of other types is not
// restored, whatever its file's name, and the file is removed.
func TestSnapshotOfAnotherFold(t *testing.T) {
	t.Parallel()
	d, o, first := snapped(t, 4)
	openFold(t, d, &tally{version: "2"}, o)
	both := snapshots(t, d)
	if len(both) != 2 {
		t.Fatalf("snapshots %v, then %v", first, both)
	}
	second := both[0]
	if second == first {
		second = both[1]
	}
	write(t, second, read(t, first))
	o.SnapshotAfter = 100 // do not save
	f := &tally{version: "2"}
	openFold(t, d, f, o)
	if f.applied != 4 {
		t.Errorf("%d records were applied, want all 4: the state of another fold was restored", f.applied)
	}
	if got := snapshots(t, d); !slices.Equal(got, []string{first}) {
		t.Errorf("left %v, want %v", got, first)
	}
}

// TestSnapshotHides: only a reader that ignores the snapshot checks the lines before it.
func TestSnapshotHides(t *testing.T) {
	t.Parallel()
	d, o, _ := snapped(t, 4)
	b := read(t, segment(d, 1))
	b[10] ^= 1
	write(t, segment(d, 1), b)
	openFold(t, d, &tally{}, o)
	o.SnapshotAfter = -1
	_, err := d.Open(journal.Leader, &tally{}, o)
	breakAt(t, err, "00000001.jsonl", 1, 1)
}

// TestSnapshotOfNoLine: a snapshot that names no line of the journal, under a sum that
// fits, is not used; no memory is taken for what it names.
func TestSnapshotOfNoLine(t *testing.T) {
	t.Parallel()
	d, o, path := snapped(t, 4)
	good := read(t, path)
	for name, at := range map[string][2]int64{
		"before the file": {-1, 100}, "nothing": {100, 100}, "backwards": {100, 50}, "far too much": {0, math.MaxInt64}, "behind the end": {1 << 40, 1<<40 + 100},
	} {
		parts := bytes.SplitN(good, []byte("\n"), 3)
		var head map[string]any
		must(t, json.Unmarshal(parts[1], &head))
		head["start"], head["end"] = at[0], at[1]
		b, err := json.Marshal(head)
		must(t, err)
		write(t, path, summed(b, parts[2]))
		f, o := &tally{}, o
		o.SnapshotAfter = 100 // do not save
		openFold(t, d, f, o)
		if f.applied != 4 || f.Seq != 4 {
			t.Errorf("%s: %d records were folded of 4, up to %d", name, f.applied, f.Seq)
		}
	}
	write(t, path, good)
	f := &tally{}
	openFold(t, d, f, o)
	if f.applied != 0 || f.Seq != 4 {
		t.Errorf("the good one: %d records were folded, up to %d", f.applied, f.Seq)
	}
}

// TestSnapshotOfOtherLines: a snapshot of a journal of the same team and name, whose lines
// are as long and stand where these do, is not used: the line that it was taken behind is
// another.
func TestSnapshotOfOtherLines(t *testing.T) {
	t.Parallel()
	o := quick
	o.SnapshotAfter = 3
	made := func(from int) (journal.Dir, string) {
		d := newDir(t)
		j := openFold(t, d, &tally{}, o)
		for i := range 4 {
			journaltest.Append(t, j, someone, journaltest.Note(from+i))
		}
		return d, snap(t, d, o)
	}
	d, ours := made(10)
	other, theirs := made(20)
	if len(read(t, segment(d, 1))) != len(read(t, segment(other, 1))) || filepath.Base(ours) != filepath.Base(theirs) {
		t.Fatal("the two journals are not as long, or their snapshots have two names")
	}
	write(t, ours, read(t, theirs))
	f := &tally{}
	openFold(t, d, f, o)
	if f.applied != 4 {
		t.Errorf("%d records of 4 were folded: the other journal's snapshot was used", f.applied)
	}
	f = &tally{}
	openFold(t, d, f, o)
	if f.applied != 0 {
		t.Errorf("%d records were folded: it was not replaced", f.applied)
	}
}

// TestWhole: Open with Whole folds the journal from its first line, whatever snapshot lies beside
// it, and leaves a snapshot that the next Open uses.
func TestWhole(t *testing.T) {
	t.Parallel()
	d := newDir(t)
	o := quick
	o.SnapshotAfter = 3
	j := openFold(t, d, &tally{}, o)
	notes(t, j, 5)
	opened := func(whole bool) int {
		t.Helper()
		o := o
		o.Whole = whole
		f := &tally{}
		openFold(t, d, f, o)
		if f.Seq != 5 {
			t.Fatalf("whole %v: folded up to %d of 5", whole, f.Seq)
		}
		return f.applied
	}
	opened(false)
	for range 2 {
		if n := opened(true); n != 5 {
			t.Errorf("the whole: %d records were folded, want 5", n)
		}
		if n := opened(false); n != 0 {
			t.Errorf("with a snapshot: %d records were folded, want none", n)
		}
	}
}
