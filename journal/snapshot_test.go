package journal_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
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
	testenv.Must(t, err)
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
	testenv.Must(t, os.Rename(path, filepath.Join(other.Path, "leader", filepath.Base(path))))
	f := &tally{}
	_, err := other.Open(journal.Leader, f, o)
	testenv.Must(t, err)
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
		testenv.Must(t, json.Unmarshal(parts[1], &head))
		head["start"], head["end"] = at[0], at[1]
		b, err := json.Marshal(head)
		testenv.Must(t, err)
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
	testenv.Must(t, json.Unmarshal(parts[1], &h))
	of := func(seq int) []byte {
		h["seq"] = seq
		b, err := json.Marshal(h)
		testenv.Must(t, err)
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
	testenv.Must(t, os.Remove(path))
	testenv.Must(t, os.Mkdir(path, 0o700))
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
	testenv.Must(t, err)
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
	testenv.Must(t, err)
	if len(again.Aside()) != 1 || len(snapshots(t, d)) != 1 {
		t.Errorf("named: left out %v, snapshots %v", again.Aside(), snapshots(t, d))
	}
}
