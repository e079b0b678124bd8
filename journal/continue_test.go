package journal_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"waggle/internal/test/testenv"
	_ "waggle/internal/test/testenv/seeded"
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
		"no segment 2": {func(t *testing.T, d journal.Dir) { testenv.Must(t, os.Remove(segment(d, 2))) }, 2, 6},
		"segment 3 is a directory": {func(t *testing.T, d journal.Dir) {
			testenv.Must(t, os.Remove(segment(d, 3)))
			testenv.Must(t, os.Mkdir(segment(d, 3), 0o700))
		}, 4, 4},
		"no line in segment 3": {func(t *testing.T, d journal.Dir) {
			write(t, segment(d, 3), without(read(t, segment(d, 3)), 0))
		}, 4, 4},
		"no end": {func(t *testing.T, d journal.Dir) {
			testenv.Must(t, os.Remove(segment(d, 4)))
			b := read(t, segment(d, 3))
			write(t, segment(d, 3), b[:len(b)-1])
		}, 5, 3},
		"garbage in the last": {func(t *testing.T, d journal.Dir) { write(t, segment(d, 4), []byte("nothing\nof\nthat\n")) }, 6, 3},
	}
	for name, tt := range damage {
		t.Run(name, func(t *testing.T) {
			d := newDir(t)
			o := quick
			o.Segment = 400
			var first redo
			j := openFold(t, d, &first, o)
			notes(t, j, 8)
			if _, err := os.Lstat(segment(d, 5)); err == nil {
				t.Fatal("more than four segments")
			}
			before := first.Records
			tt.harm(t, d)
			b, err := d.FindBreak(journal.Leader, &redo{}, quick)
			testenv.Must(t, err)
			if b == nil || b.Prefix != tt.prefix || b.Records != tt.lost || b.SHA256 == "" {
				t.Fatalf("break %+v, want %d records before it and %d lines lost", b, tt.prefix, tt.lost)
			}
			keep := filepath.Join(t.TempDir(), "kept")
			var fold redo
			ack := journal.Draft{Kind: "acknowledged", Must: true, Body: b.SHA256}
			testenv.Must(t, d.Continue(t.Context(), b, keep, &fold, quick, someone, func() ([]journal.Draft, error) {
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
	j := openFold(t, d, &first, o)
	notes(t, j, 8)
	write(t, segment(d, 2), flipped(read(t, segment(d, 2)), 40))
	had := map[int][]byte{3: read(t, segment(d, 3)), 4: read(t, segment(d, 4))}
	b, err := d.FindBreak(journal.Leader, &redo{}, quick)
	testenv.Must(t, err)
	ack := func() ([]journal.Draft, error) { return []journal.Draft{{Kind: "acknowledged", Must: true}}, nil }
	testenv.Must(t, d.Continue(t.Context(), b, filepath.Join(t.TempDir(), "kept"), &redo{}, quick, someone, ack))
	for _, back := range [][]int{{3, 4}, {3}} { // in the order of removal: the last first
		for _, n := range back {
			write(t, segment(d, n), had[n])
		}
		b, err := d.FindBreak(journal.Leader, &redo{}, quick)
		testenv.Must(t, err)
		if b == nil {
			t.Fatalf("segments %v are still there, and the journal is whole", back)
		}
		testenv.Must(t, d.Continue(t.Context(), b, filepath.Join(t.TempDir(), "kept"), &redo{}, quick, someone, ack))
		verified(t, d)
	}
}

// TestContinueChanged: Continue refuses to cut lines that were appended after FindBreak.
func TestContinueChanged(t *testing.T) {
	t.Parallel()
	s := newSample(t, 6)
	s.put(t, flipped(s.bytes, s.ends[3]+10))
	b, err := s.dir.FindBreak(journal.Leader, &redo{}, quick)
	testenv.Must(t, err)
	s.put(t, flipped(s.bytes, s.ends[3]+11))
	err = s.dir.Continue(t.Context(), b, filepath.Join(t.TempDir(), "kept"), &redo{}, quick, someone, func() ([]journal.Draft, error) { return []journal.Draft{journaltest.Note(1)}, nil })
	if err == nil {
		t.Fatal("it was cut")
	}
	if got := read(t, segment(s.dir, 1)); string(got) != string(flipped(s.bytes, s.ends[3]+11)) {
		t.Error("the journal was changed")
	}
}

// TestContinueKeepsBodies: a body in a file of its own, before the break, is in the continued
// journal and in what is kept; a snapshot and the lock are not copied.
func TestContinueKeepsBodies(t *testing.T) {
	d := newDir(t)
	o := quick
	o.SnapshotAfter = 1
	j := openFold(t, d, &tally{}, o)
	journaltest.Append(t, j, someone, journal.Draft{Kind: "large", Body: strings.Repeat("x", journal.MaxInline)})
	journaltest.Append(t, j, someone, journaltest.Note(2))
	snap(t, d, o)
	good := read(t, segment(d, 1))
	write(t, segment(d, 1), append(good, "no record\n"...))
	b, err := d.FindBreak(journal.Leader, &redo{}, quick)
	testenv.Must(t, err)
	if b.Prefix != 2 || b.Records != 1 || b.Bytes != 10 {
		t.Errorf("%+v", b)
	}
	keep := filepath.Join(t.TempDir(), "kept")
	ack := func() ([]journal.Draft, error) { return []journal.Draft{{Kind: "acknowledged", Must: true}}, nil }
	testenv.Must(t, d.Continue(t.Context(), b, keep, &redo{}, quick, someone, ack))
	recs := verified(t, d)
	if len(recs) != 3 || len(recs[0].Body) != journal.MaxInline+2 || len(snapshots(t, d)) != 0 {
		t.Errorf("%d records, snapshots %v", len(recs), snapshots(t, d))
	}
	for _, name := range []string{"00000001.jsonl", filepath.Join("bodies", recs[0].Ref.SHA256)} {
		if _, err := os.Stat(filepath.Join(keep, name)); err != nil {
			t.Error(err)
		}
	}
	if got := read(t, filepath.Join(keep, "00000001.jsonl")); string(got) != string(good)+"no record\n" {
		t.Errorf("kept:\n%s", got)
	}
	if left, err := filepath.Glob(keep + ".next*"); err != nil || left != nil {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestContinueRefuses: a journal without a readable record is not continued, nor one that cannot be
// kept, nor one whose propose fails; it stays as it is.
func TestContinueRefuses(t *testing.T) {
	ack := func() ([]journal.Draft, error) { return []journal.Draft{{Kind: "acknowledged", Must: true}}, nil }
	d, _ := noted(t, 1)
	one := read(t, segment(d, 1))
	write(t, segment(d, 1), flipped(one, 20))
	b, err := d.FindBreak(journal.Leader, &redo{}, quick)
	testenv.Must(t, err)
	keep := filepath.Join(t.TempDir(), "kept")
	if err := d.Continue(t.Context(), b, keep, &redo{}, quick, someone, ack); !errors.As(err, new(*journal.BrokenError)) || !strings.Contains(err.Error(), "no record before the break") {
		t.Errorf("without a record: %v", err)
	}
	if _, err := os.Stat(keep); err == nil {
		t.Error("something is kept of it")
	}

	write(t, segment(d, 1), append(one, "x\n"...))
	b, err = d.FindBreak(journal.Leader, &redo{}, quick)
	testenv.Must(t, err)
	no := errors.New("no")
	for what, try := range map[string]func() error{
		"propose fails": func() error {
			return d.Continue(t.Context(), b, keep, &redo{}, quick, someone, func() ([]journal.Draft, error) { return nil, no })
		},
		"cannot be kept": func() error {
			put := filepath.Join(t.TempDir(), "file")
			write(t, put, nil)
			return d.Continue(t.Context(), b, filepath.Join(put, "kept"), &redo{}, quick, someone, ack)
		},
		"refused by the fold": func() error {
			return d.Continue(t.Context(), b, filepath.Join(t.TempDir(), "k"), &choosy{refuse: "acknowledged"}, quick, someone, ack)
		},
	} {
		if err := try(); err == nil || what == "propose fails" && !errors.Is(err, no) {
			t.Errorf("%s: %v", what, err)
		}
		if got := read(t, segment(d, 1)); string(got) != string(one)+"x\n" {
			t.Errorf("%s: the journal is\n%s", what, got)
		}
	}
}

// TestFindBreakOfNothing: a journal that is whole and one that does not exist have no break; for a
// name that is none there is an error.
func TestFindBreakOfNothing(t *testing.T) {
	s := newSample(t, 3)
	fold := &redo{}
	if b, err := s.dir.FindBreak(journal.Leader, fold, quick); b != nil || err != nil || len(fold.Records) != len(s.recs) {
		t.Errorf("%+v, %v, %d folded", b, err, len(fold.Records))
	}
	if b, err := s.dir.FindBreak("nobody", &redo{}, quick); b != nil || err != nil {
		t.Errorf("%+v, %v", b, err)
	}
	if b, err := s.dir.FindBreak("../leader", &redo{}, quick); b != nil || err == nil {
		t.Errorf("%+v, %v", b, err)
	}
	// An error of a fold about a record is no break of the journal.
	if b, err := s.dir.FindBreak(journal.Leader, &journaltest.Recorder{Refuse: 2, Err: errChoosy}, quick); b != nil || !errors.Is(err, errChoosy) {
		t.Errorf("%+v, %v", b, err)
	}
}

// TestCut cuts a journal behind every byte, as a writer that died leaves it: the
// complete appends fold, the next append records the rest as cut. Bytes near the end of a
// line are tried in every size, a sample of the others but in soak.
func TestCut(t *testing.T) {
	t.Parallel()
	s := newSample(t, 22) // 30 lines
	if len(s.lines) < 26 {
		t.Fatalf("%d lines", len(s.lines))
	}
	s.put(t, nil)
	f, err := os.OpenFile(segment(s.dir, 1), os.O_WRONLY|os.O_APPEND, 0)
	testenv.Must(t, err)
	defer f.Close()
	first, step := testenv.Sample(t, 40)
	tried := func(off int) bool {
		return off%step == first || bytes.IndexByte(s.bytes[max(0, off-2):min(off+2, len(s.bytes))], '\n') >= 0
	}
	for off := range len(s.bytes) + 1 {
		if tried(off) {
			n, _ := s.whole(off)
			_, fold := open(t, s.dir, quick)
			same(t, "prefix", fold.Records, s.recs[:n])
		}
		if off < len(s.bytes) {
			_, err := f.Write(s.bytes[off : off+1])
			testenv.Must(t, err)
		}
	}
	for off := range len(s.bytes) + 1 {
		if !tried(off) {
			continue
		}
		n, end := s.whole(off)
		s.put(t, s.bytes[:off])
		j, fold := open(t, s.dir, quick)
		same(t, "prefix", fold.Records, s.recs[:n])
		recs := journaltest.Append(t, j, someone, journaltest.Note(-1))
		if len(recs) != 1 || string(recs[0].Body) != `{"n":-1}` {
			t.Fatalf("cut at %d: Append returned %v", off, recs)
		}
		want := append(s.recs[:n:n], fold.Records[n:]...)
		if end == off {
			if len(want) != n+1 {
				t.Fatalf("cut at %d, between appends: %d records more", off, len(want)-n)
			}
		} else {
			if len(want) != n+2 {
				t.Fatalf("cut at %d: %d records more, want repaired and ours", off, len(want)-n)
			}
			repaired(t, s.dir, want[n], s.bytes[end:off])
		}
		_, again := open(t, s.dir, quick)
		same(t, "after the repair", again.Records, want)
		if off%50 == 0 {
			verified(t, s.dir)
		}
	}
}

// repaired checks a record of a repair.
func repaired(t tester, d journal.Dir, r journal.Record, cut []byte) {
	t.Helper()
	var body journal.Repaired
	testenv.Must(t, json.Unmarshal(r.Body, &body))
	if r.Kind != journal.KindRepaired || body.Cut.Size != len(cut) {
		t.Fatalf("%s %s, want repaired of %d bytes", r.Kind, r.Body, len(cut))
	}
	if kept := read(t, filepath.Join(d.Path, "leader", "bodies", body.Cut.SHA256)); !bytes.Equal(kept, cut) {
		t.Fatalf("kept %q of %q", kept, cut)
	}
}

// TestCutAndRefused: the journal records a cut even when propose refuses or drafts nothing.
func TestCutAndRefused(t *testing.T) {
	t.Parallel()
	for _, no := range []error{nil, os.ErrPermission} {
		s := newSample(t, 3)
		off := len(s.bytes) - 1
		s.put(t, s.bytes[:off])
		n, end := s.whole(off)
		j, fold := open(t, s.dir, quick)
		recs, err := j.Append(t.Context(), someone, func() ([]journal.Draft, error) { return nil, no })
		if err != no || recs != nil {
			t.Fatalf("Append = %v, %v", recs, err)
		}
		if len(fold.Records) != n+1 {
			t.Fatalf("%d records, want %d and repaired", len(fold.Records), n)
		}
		repaired(t, s.dir, fold.Records[n], s.bytes[end:off])
		same(t, "on disk", verified(t, s.dir), fold.Records)
	}
}

// TestDiedBeforeLine: a body whose line was never written, and the temporary file of a body, do not
// disturb later appends.
func TestDiedBeforeLine(t *testing.T) {
	t.Parallel()
	s := newSample(t, 11) // the large body is the 6th append
	for _, tail := range [][]byte{nil, s.bytes[s.ends[5] : s.ends[5]+40]} {
		s.put(t, append(s.bytes[:s.ends[5]:s.ends[5]], tail...))
		write(t, filepath.Join(s.dir.Path, "leader", "bodies", ".new"), []byte("half a bo"))
		j, fold := open(t, s.dir, quick)
		same(t, "prefix", fold.Records, s.recs[:s.after[5]])
		large := s.recs[s.after[5]]
		if large.Kind != "large" {
			t.Fatalf("the sample has %s there", large.Kind)
		}
		got := journaltest.Append(t, j, someone, journal.Draft{Kind: "large", Must: true, Body: large.Body})
		if !bytes.Equal(got[0].Body, large.Body) {
			t.Error("another body")
		}
		same(t, "on disk", verified(t, s.dir), fold.Records)
	}
}

// TestGrowing feeds a journal to a reader in pieces of any size. The reader folds each append when
// its last byte arrives, and never reports a break.
func TestGrowing(t *testing.T) {
	t.Parallel()
	s := newSample(t, 30)
	forget(t, s.dir)
	rapid.Check(t, func(t *rapid.T) {
		testenv.Must(t, os.WriteFile(segment(s.dir, 1), nil, 0o600))
		f, err := os.OpenFile(segment(s.dir, 1), os.O_WRONLY|os.O_APPEND, 0)
		testenv.Must(t, err)
		defer f.Close()
		j, fold := open(t, s.dir, quick)
		for off := 0; off < len(s.bytes); {
			n := min(rapid.IntRange(0, 700).Draw(t, "piece"), len(s.bytes)-off)
			_, err := f.Write(s.bytes[off : off+n])
			testenv.Must(t, err)
			off += n
			refresh(t, j)
			want, _ := s.whole(off)
			same(t, "prefix", fold.Records, s.recs[:want])
		}
		same(t, "whole", fold.Records, s.recs)
	})
}
