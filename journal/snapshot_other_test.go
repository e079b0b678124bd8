package journal_test

import (
	"path/filepath"
	"testing"

	"waggle/journal"
	"waggle/journal/journaltest"
)

// TestSnapshotOfOtherLines: a snapshot of a journal of the same team and name, whose lines
// are as long and stand where these do, is not used: the line that it was taken behind is
// another.
func TestSnapshotOfOtherLines(t *testing.T) {
	t.Parallel()
	o := quick
	o.SnapshotAfter = 3
	o.Now = fixed
	made := func(from int) (journal.Dir, string) {
		d := newDir(t)
		j := openTally(t, d, &tally{}, o)
		for i := range 4 {
			journaltest.Append(t, j, someone, journaltest.Note(from+i))
		}
		openTally(t, d, &tally{}, o)
		names := snapshots(t, d)
		if len(names) != 1 {
			t.Fatalf("snapshots: %v", names)
		}
		return d, names[0]
	}
	d, ours := made(10)
	other, theirs := made(20)
	if len(read(t, segment(d, 1))) != len(read(t, segment(other, 1))) || filepath.Base(ours) != filepath.Base(theirs) {
		t.Fatal("the two journals are not as long, or their snapshots have two names")
	}
	write(t, ours, read(t, theirs))
	f := &tally{}
	openTally(t, d, f, o)
	if f.applied != 4 {
		t.Errorf("%d records of 4 were folded: the other journal's snapshot was used", f.applied)
	}
	f = &tally{}
	openTally(t, d, f, o)
	if f.applied != 0 {
		t.Errorf("%d records were folded: it was not replaced", f.applied)
	}
}
