package journal_test

import (
	"testing"

	"waggle/journal/journaltest"
)

// TestWhole: Open with Whole folds the journal from its first line, whatever snapshot lies beside
// it, and leaves a snapshot that the next Open uses.
func TestWhole(t *testing.T) {
	t.Parallel()
	d := newDir(t)
	o := quick
	o.SnapshotAfter = 3
	j := openTally(t, d, &tally{}, o)
	for i := range 5 {
		journaltest.Append(t, j, someone, journaltest.Note(i))
	}
	opened := func(whole bool) int {
		t.Helper()
		o := o
		o.Whole = whole
		f := &tally{}
		openTally(t, d, f, o)
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
