package journal_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"waggle/journal"
	"waggle/journal/journaltest"
)

// TestContinue breaks a journal of several segments in every way and continues it. The result is
// whole, begins with the records before the break, and the old journal is kept.
func TestContinue(t *testing.T) {
	t.Parallel()
	damage := map[string]struct {
		harm   func(t *testing.T, d journal.Dir)
		prefix journal.Seq
		lost   int
	}{
		"a byte of segment 2": {func(t *testing.T, d journal.Dir) {
			b := read(t, segment(d, 2))
			write(t, segment(d, 2), flipped(b, 40))
		}, 2, 6},
		"no segment 2": {func(t *testing.T, d journal.Dir) { must(t, os.Remove(segment(d, 2))) }, 2, 4},
		"segment 3 is a directory": {func(t *testing.T, d journal.Dir) {
			must(t, os.Remove(segment(d, 3)))
			must(t, os.Mkdir(segment(d, 3), 0o700))
		}, 4, 2},
		"no line in segment 3": {func(t *testing.T, d journal.Dir) {
			write(t, segment(d, 3), without(read(t, segment(d, 3)), 0))
		}, 4, 3},
		"garbage in the last": {func(t *testing.T, d journal.Dir) { write(t, segment(d, 4), []byte("nothing\nof\nthat\n")) }, 6, 3},
	}
	for name, tt := range damage {
		t.Run(name, func(t *testing.T) {
			d := newDir(t)
			o := quick
			o.Segment = 400
			var first redo
			j, err := d.Open(journal.Leader, &first, o)
			must(t, err)
			for i := range 8 {
				journaltest.Append(t, j, someone, journaltest.Note(i))
			}
			if _, err := os.Lstat(segment(d, 5)); err == nil {
				t.Fatal("more than four segments")
			}
			before := first.Records
			tt.harm(t, d)
			b, err := d.FindBreak(journal.Leader, &redo{}, quick)
			must(t, err)
			if b == nil || b.Prefix != tt.prefix || b.Records != tt.lost || b.SHA256 == "" {
				t.Fatalf("break %+v, want %d records before it and %d lines lost", b, tt.prefix, tt.lost)
			}
			keep := filepath.Join(t.TempDir(), "kept")
			var fold redo
			ack := journal.Draft{Kind: "acknowledged", Must: true, Body: b.SHA256}
			must(t, d.Continue(t.Context(), b, keep, &fold, quick, someone, func() ([]journal.Draft, error) {
				if len(fold.Records) != int(tt.prefix) {
					t.Errorf("%d records are folded before the acknowledgement", len(fold.Records))
				}
				return []journal.Draft{ack}, nil
			}))
			got := verified(t, d)
			same(t, "what stood before", got[:tt.prefix], before[:tt.prefix])
			if len(got) != int(tt.prefix)+1 || got[tt.prefix].Kind != "acknowledged" {
				t.Fatalf("%d records, want the acknowledgement behind %d", len(got), tt.prefix)
			}
			again, _ := open(t, d, o)
			journaltest.Append(t, again, someone, journaltest.Note(9))
			verified(t, d)
			if b, err := d.FindBreak(journal.Leader, &redo{}, quick); b != nil || err != nil {
				t.Errorf("it is broken still: %+v, %v", b, err)
			}
			if _, err := os.Stat(filepath.Join(keep, "00000001.jsonl")); err != nil {
				t.Errorf("the broken one is not kept: %v", err)
			}
			// A File that has read lines behind the break refuses the continued journal.
			if err := j.Refresh(context.Background()); !errors.As(err, new(*journal.BrokenError)) {
				t.Errorf("refresh of one that had read it all: %v", err)
			}
		})
	}
}

// TestContinueCutShort interrupts Continue after each file that it changes: the journal is then
// broken or continued, and never only shorter.
func TestContinueCutShort(t *testing.T) {
	t.Parallel()
	d := newDir(t)
	o := quick
	o.Segment = 400
	var first redo
	j, err := d.Open(journal.Leader, &first, o)
	must(t, err)
	for i := range 8 {
		journaltest.Append(t, j, someone, journaltest.Note(i))
	}
	write(t, segment(d, 2), flipped(read(t, segment(d, 2)), 40))
	had := map[int][]byte{3: read(t, segment(d, 3)), 4: read(t, segment(d, 4))}
	b, err := d.FindBreak(journal.Leader, &redo{}, quick)
	must(t, err)
	ack := func() ([]journal.Draft, error) { return []journal.Draft{{Kind: "acknowledged", Must: true}}, nil }
	must(t, d.Continue(t.Context(), b, filepath.Join(t.TempDir(), "kept"), &redo{}, quick, someone, ack))
	for _, back := range [][]int{{3, 4}, {3}} { // in the order of removal: the last first
		for _, n := range back {
			write(t, segment(d, n), had[n])
		}
		b, err := d.FindBreak(journal.Leader, &redo{}, quick)
		must(t, err)
		if b == nil {
			t.Fatalf("segments %v are still there, and the journal is whole", back)
		}
		must(t, d.Continue(t.Context(), b, filepath.Join(t.TempDir(), "kept"), &redo{}, quick, someone, ack))
		verified(t, d)
	}
}

// TestContinueChanged: Continue refuses to cut lines that were appended after FindBreak.
func TestContinueChanged(t *testing.T) {
	t.Parallel()
	s := newSample(t, 6)
	s.put(t, flipped(s.bytes, s.ends[3]+10))
	b, err := s.dir.FindBreak(journal.Leader, &redo{}, quick)
	must(t, err)
	s.put(t, flipped(s.bytes, s.ends[3]+11))
	err = s.dir.Continue(t.Context(), b, filepath.Join(t.TempDir(), "kept"), &redo{}, quick, someone, func() ([]journal.Draft, error) { return []journal.Draft{journaltest.Note(1)}, nil })
	if err == nil {
		t.Fatal("it was cut")
	}
	if got := read(t, segment(s.dir, 1)); string(got) != string(flipped(s.bytes, s.ends[3]+11)) {
		t.Error("the journal was changed")
	}
}
