package journal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/journal/journaltest"
)

func certainPath(d journal.Dir) string { return filepath.Join(d.Path, "leader", journal.CertainName) }

// certainOf reads certain.json with other code than the package's own; zero when it is missing.
func certainOf(t tester, d journal.Dir) (seq int, sum string) {
	t.Helper()
	b, err := os.ReadFile(certainPath(d))
	if errors.Is(err, os.ErrNotExist) {
		return 0, ""
	}
	testenv.Must(t, err)
	var c struct {
		Seq        int
		Sum, Check string
	}
	head, _, _ := bytes.Cut(b, []byte(`,"check":"`))
	if err := json.Unmarshal(b, &c); err != nil || len(b) != 96 || c.Check != journal.LineSum(head) {
		t.Fatalf("certain.json is %q: %v", b, err)
	}
	return c.Seq, c.Sum
}

// allLines are the lines of all segments.
func allLines(t tester, d journal.Dir) (lines [][]byte) {
	t.Helper()
	for seg := 1; ; seg++ {
		b, err := os.ReadFile(segment(d, seg))
		if errors.Is(err, os.ErrNotExist) {
			return lines
		}
		testenv.Must(t, err)
		for l := range bytes.Lines(b) {
			lines = append(lines, l)
		}
	}
}

// notAhead checks that certain.json names a line that is there.
func notAhead(t tester, d journal.Dir) (seq int) {
	t.Helper()
	seq, sum := certainOf(t, d)
	lines := allLines(t, d)
	if seq > len(lines) || seq > 0 && !bytes.Contains(lines[seq-1], []byte(`,"sum":"`+sum+`"}`)) {
		t.Fatalf("certain.json names seq %d with sum %s, and there are %d lines", seq, sum, len(lines))
	}
	return seq
}

// TestEndLost cuts an acknowledged journal at every byte, or in the usual size at a sample of them: a
// fresh reader finds it, and who has it open. Nothing is written to it, and nobody is asked to draft.
func TestEndLost(t *testing.T) {
	t.Parallel()
	s := newSample(t, 9)
	if notAhead(t, s.dir) != len(s.lines) {
		t.Fatal("the last line is not certain")
	}
	saved := read(t, certainPath(s.dir))
	first, step := testenv.Sample(t, 40)
	for off := first; off < len(s.bytes); off += step {
		s.put(t, s.bytes)
		living, fold := open(t, s.dir, quick)
		testenv.Must(t, os.Truncate(segment(s.dir, 1), int64(off)))
		write(t, certainPath(s.dir), saved)
		n, _ := s.whole(off)
		folded, err := refused(t, s.dir)
		same(t, "prefix", folded, s.recs[:n])
		if !strings.Contains(fmt.Sprint(err), "broken") {
			t.Fatalf("cut at %d: %v", off, err)
		}
		if !strings.Contains(err.Error(), "newline") { // the one that ends the last line is gone
			breakAt(t, err, "00000001.jsonl", n+1, journal.Seq(n+1))
		}
		for range 2 {
			_, err := living.Append(t.Context(), someone, func() ([]journal.Draft, error) { return []journal.Draft{journaltest.Note(1)}, nil })
			breakAt(t, err, "00000001.jsonl", len(s.lines)+1, journal.Seq(len(s.lines)+1))
		}
		same(t, "the living fold", fold.Records, s.recs)
		if !bytes.Equal(read(t, segment(s.dir, 1)), s.bytes[:off]) {
			t.Fatal("a broken journal was written to")
		}
	}
}

// TestEndLostWays: each way to lose the end that leaves certain.json is a break, and is none any more
// when the bytes are back.
func TestEndLostWays(t *testing.T) {
	t.Parallel()
	o := quick
	o.Segment = 400
	for name, tt := range map[string]struct {
		harm func(t *testing.T, d journal.Dir)
		file int // that the break is in
	}{
		"the last segment": {func(t *testing.T, d journal.Dir) { testenv.Must(t, os.Remove(segment(d, 4))) }, 3},
		"two segments": {func(t *testing.T, d journal.Dir) {
			testenv.Must(t, errors.Join(os.Remove(segment(d, 3)), os.Remove(segment(d, 4))))
		}, 2},
		"all segments": {func(t *testing.T, d journal.Dir) {
			for n := range 4 {
				testenv.Must(t, os.Remove(segment(d, n+1)))
			}
		}, 1},
		"a segment in the middle":  {func(t *testing.T, d journal.Dir) { testenv.Must(t, os.Remove(segment(d, 2))) }, 2},
		"the last segment's lines": {func(t *testing.T, d journal.Dir) { write(t, segment(d, 4), nil) }, 4},
		"its last append": {func(t *testing.T, d journal.Dir) {
			b := read(t, segment(d, 4))
			write(t, segment(d, 4), without(b, bytes.Count(b, []byte("\n"))-1))
		}, 4},
		"an older copy with other lines behind": {func(t *testing.T, d journal.Dir) {
			saved := read(t, certainPath(d))
			testenv.Must(t, os.Remove(segment(d, 4)))
			forget(t, d)
			j, _ := open(t, d, o) // a program that does not know certain.json
			for i := range 4 {
				journaltest.Append(t, j, someone, journaltest.Note(100+i))
			}
			write(t, certainPath(d), saved)
		}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := fixed()
			o := o
			o.Now = func() time.Time { return now }
			d := newDir(t)
			j, fold := open(t, d, o)
			notes(t, j, 8)
			saved := map[int][]byte{}
			for n := 1; n <= 4; n++ {
				saved[n] = read(t, segment(d, n))
			}
			tt.harm(t, d)
			var late redo
			l, err := d.Open(journal.Leader, &late, o)
			var b *journal.BrokenError
			if !errors.As(err, &b) || b.File != fmt.Sprintf("%08d.jsonl", tt.file) {
				t.Fatalf("%v, want a break in segment %d", err, tt.file)
			}
			_, err = j.Append(t.Context(), someone, func() ([]journal.Draft, error) { return nil, errors.New("was asked") })
			if !errors.As(err, &b) {
				t.Fatalf("who has it open: %v", err)
			}
			testenv.Must(t, os.RemoveAll(segment(d, 5)))
			for n, b := range saved {
				testenv.Must(t, os.RemoveAll(segment(d, n)))
				write(t, segment(d, n), b)
			}
			now = now.Add(time.Minute)
			if name != "an older copy with other lines behind" { // one of those was folded
				refresh(t, l)
				same(t, "who opened the broken one", late.Records, fold.Records)
			}
			same(t, "on disk", verified(t, d), fold.Records)
		})
	}
}

// TestEndLostUnread: a File that has not read the end yet finds that it was lost.
func TestEndLostUnread(t *testing.T) {
	t.Parallel()
	d, j := noted(t, 0)
	before := read(t, segment(d, 1))
	reader, _ := open(t, d, quick)
	journaltest.Append(t, j, someone, journaltest.Note(1))
	testenv.Must(t, os.Truncate(segment(d, 1), int64(len(before))))
	breakAt(t, reader.Refresh(t.Context()), "00000001.jsonl", 2, 2)
	_, err := reader.Append(t.Context(), someone, func() ([]journal.Draft, error) { return nil, errors.New("was asked") })
	breakAt(t, err, "00000001.jsonl", 2, 2)
}

// TestEndLostSnapshot: a snapshot that is newer than what is left does not hide that, and one that is
// older does not either.
func TestEndLostSnapshot(t *testing.T) {
	t.Parallel()
	for _, left := range []int{6, 2} { // of 8 lines, with a snapshot of 4
		d, o, _ := snapped(t, 4)
		o.SnapshotAfter = 100 // save no other
		notes(t, openFold(t, d, &tally{}, o), 4)
		openFold(t, d, &tally{}, journal.Options{Now: fixed, Sync: noSync, SnapshotAfter: 100, ReadOnly: true})
		lines := bytes.SplitAfter(read(t, segment(d, 1)), []byte("\n"))
		write(t, segment(d, 1), bytes.Join(lines[:left], nil))
		_, err := d.Open(journal.Leader, &tally{}, o)
		breakAt(t, err, "00000001.jsonl", left+1, journal.Seq(left+1))
	}
}

// TestEndReplacedSnapshot: a snapshot does not hide that the last line is another than the certain one.
func TestEndReplacedSnapshot(t *testing.T) {
	t.Parallel()
	d, other := newDir(t), newDir(t)
	o := quick
	o.SnapshotAfter = 4
	for i, d := range []journal.Dir{d, other} {
		j := openFold(t, d, &tally{}, o)
		for k := range 4 {
			journaltest.Append(t, j, someone, journaltest.Note(10*i+k))
		}
	}
	snap(t, other, o)
	write(t, certainPath(other), read(t, certainPath(d)))
	o.ReadOnly = true
	f := &tally{}
	_, err := other.Open(journal.Leader, f, o)
	if breakAt(t, err, "00000001.jsonl", 5, 5); f.applied != 0 {
		t.Fatal("the snapshot was not used")
	}
}

// TestCertain: with any appends, crashes before the file is written and cuts in any order, certain.json
// names a line that was flushed, no crash breaks the journal, and a cut is found if and only if it
// reaches a line that is certain.
func TestCertain(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		d := journal.Dir{Path: filepath.Join(top, fmt.Sprint(n)), UID: uid}
		flushed := 0
		o := quick
		o.Segment = int64(rapid.SampledFrom([]int{400, 3000}).Draw(t, "segment"))
		o.Sync = func(f *os.File) error {
			if strings.HasSuffix(f.Name(), ".jsonl") {
				if seq, _ := certainOf(t, d); seq > flushed {
					t.Fatalf("certain.json names seq %d when %d lines are flushed", seq, flushed)
				}
				flushed = len(allLines(t, d))
			}
			return nil
		}
		a, _ := open(t, d, o)
		b, _ := open(t, d, o)
		for step := range rapid.IntRange(1, 12).Draw(t, "steps") {
			j := rapid.SampledFrom([]*journal.File{a, b}).Draw(t, "writer")
			before, berr := os.ReadFile(certainPath(d))
			var drafts []journal.Draft
			for i := range rapid.IntRange(1, 3).Draw(t, "drafts") {
				drafts = append(drafts, journaltest.Note(100*step+i))
			}
			_, err := j.Append(t.Context(), someone, func() ([]journal.Draft, error) { return drafts, nil })
			testenv.Must(t, err)
			if seq := notAhead(t, d); seq != flushed {
				t.Fatalf("seq %d is certain of %d", seq, flushed)
			}
			if rapid.Bool().Draw(t, "killed before it was written") {
				if forget(t, d); berr == nil {
					write(t, certainPath(d), before)
				}
				_, fold := open(t, d, quick)
				if len(fold.Records) != flushed {
					t.Fatalf("%d records of %d", len(fold.Records), flushed)
				}
			}
		}
		lines := allLines(t, d)
		left := rapid.IntRange(0, len(lines)).Draw(t, "left")
		for seg, at := 1, 0; ; seg++ { // keep the first lines
			raw, err := os.ReadFile(segment(d, seg))
			if errors.Is(err, os.ErrNotExist) {
				break
			}
			testenv.Must(t, err)
			if lines := bytes.SplitAfter(raw, []byte("\n")); at+len(lines)-1 > left {
				write(t, segment(d, seg), bytes.Join(lines[:max(0, left-at)], nil))
			}
			if at += bytes.Count(raw, []byte("\n")); at >= left && seg > 1 && left <= at-bytes.Count(raw, []byte("\n")) {
				testenv.Must(t, os.Remove(segment(d, seg)))
			}
		}
		seq, _ := certainOf(t, d)
		var fold journaltest.Recorder
		_, err := d.Open(journal.Leader, &fold, quick)
		if broken := errors.As(err, new(*journal.BrokenError)); broken != (len(fold.Records) < seq) || !broken && err != nil {
			t.Fatalf("%d lines of %d are left, %d are folded, seq %d is certain: %v", left, len(lines), len(fold.Records), seq, err)
		}
		for _, j := range []*journal.File{a, b} {
			if err := j.Refresh(t.Context()); left < int(j.Seq()) && !errors.As(err, new(*journal.BrokenError)) {
				t.Fatalf("one that had read %d of them: %v", j.Seq(), err)
			}
		}
	})
}

// TestCertainFaults: an append whose flush fails is not certain, and neither a failure nor a half
// written file makes a journal unusable.
func TestCertainFaults(t *testing.T) {
	t.Parallel()
	d := newDir(t)
	o, broken := quick, false
	o.FlushWait = time.Millisecond
	o.Sync = func(*os.File) error {
		if broken {
			return syscall.EIO
		}
		return nil
	}
	j, fold := open(t, d, o)
	journaltest.Append(t, j, someone, journaltest.Note(0))
	broken = true
	if _, err := j.Append(t.Context(), someone, func() ([]journal.Draft, error) { return []journal.Draft{journaltest.Note(1)}, nil }); err == nil {
		t.Fatal("appended without a flush")
	}
	if seq := notAhead(t, d); seq != 1 {
		t.Errorf("seq %d is certain, and its flush failed", seq)
	}
	broken = false
	whole := read(t, certainPath(d))
	for n := range whole {
		for _, b := range [][]byte{whole[:n], flipped(whole, n), append(whole[:n:n], whole...)} {
			write(t, certainPath(d), b)
			_, seen := open(t, d, quick)
			if len(seen.Records) < 2 {
				t.Fatalf("%d records", len(seen.Records))
			}
			if err := d.CheckCertain(journal.Leader); (err == nil) != (len(b) == 0 || bytes.Equal(b, whole)) {
				t.Fatalf("%q: %v", b, err)
			}
			if n%16 == 0 {
				journaltest.Append(t, j, someone, journaltest.Note(n))
				if seq := notAhead(t, d); seq != int(j.Seq()) {
					t.Fatalf("seq %d is certain of %d", seq, j.Seq())
				}
				testenv.Must(t, d.CheckCertain(journal.Leader))
			}
		}
	}
	same(t, "on disk", verified(t, d), fold.Records)
}

// TestCertainAhead: a line that certain.json names is missed, also by one that has the journal open, and
// a journal without the file is read as it is.
func TestCertainAhead(t *testing.T) {
	t.Parallel()
	d, j := noted(t, 0)
	ahead := newDir(t)
	other, _ := open(t, ahead, quick)
	journaltest.Append(t, other, someone, journaltest.Note(0))
	journaltest.Append(t, other, someone, journaltest.Note(1))
	write(t, certainPath(d), read(t, certainPath(ahead)))
	breakAt(t, j.Refresh(t.Context()), "00000001.jsonl", 2, 2)
	_, err := refused(t, d)
	breakAt(t, err, "00000001.jsonl", 2, 2)
	forget(t, d)
	_, fold := open(t, d, quick)
	if len(fold.Records) != 1 {
		t.Errorf("%d records", len(fold.Records))
	}
}

// TestCertainWhileWritten: readers that open and follow a journal while it is written find no break.
func TestCertainWhileWritten(t *testing.T) {
	t.Parallel()
	d := newDir(t)
	o := journal.Options{Segment: 4000, Sync: noSync}
	j, _ := open(t, d, o)
	journaltest.Append(t, j, someone, journaltest.Note(0))
	var wg sync.WaitGroup
	done := make(chan struct{})
	for range 2 {
		wg.Go(func() {
			follower, _ := open(t, d, o)
			for {
				if err := follower.Refresh(t.Context()); err != nil {
					t.Error("the follower: ", err)
					return
				}
				if _, err := d.Open(journal.Leader, nil, o); err != nil {
					t.Error("one that opens it: ", err)
					return
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for i := range testenv.Scale(300, 5000) {
		journaltest.Append(t, j, someone, journaltest.Note(i))
	}
	close(done)
	wg.Wait()
}

// TestContinueEnd: a journal that lost its end is continued: it is broken until that is finished, and
// certain.json is of the continued one.
func TestContinueEnd(t *testing.T) {
	t.Parallel()
	s := newSample(t, 6)
	testenv.Must(t, os.Truncate(segment(s.dir, 1), int64(s.ends[3])))
	lost := read(t, certainPath(s.dir))
	ack := func() ([]journal.Draft, error) { return []journal.Draft{{Kind: "acknowledged", Must: true}}, nil }
	for again := range 3 {
		b, err := s.dir.FindBreak(journal.Leader, &redo{}, quick)
		testenv.Must(t, err)
		if b == nil {
			t.Fatalf("round %d: no break", again)
		}
		keep := filepath.Join(t.TempDir(), "kept")
		testenv.Must(t, s.dir.Continue(t.Context(), b, keep, &redo{}, quick, someone, ack))
		if got := read(t, filepath.Join(keep, journal.CertainName)); !bytes.Equal(got, lost) {
			t.Errorf("kept with %s, want %s", got, lost)
		}
		recs := verified(t, s.dir)
		if seq := notAhead(t, s.dir); seq != len(recs) || recs[seq-1].Kind != "acknowledged" {
			t.Fatalf("seq %d is certain of %d", seq, len(recs))
		}
		// As if it had been interrupted before the last file.
		write(t, certainPath(s.dir), lost)
	}
}
