package journal_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/journal/journaltest"
)

// faults counts the file operations of a journal and fails one of them.
type faults struct {
	calls      []string // file operations in the order of their calls
	at         int      // index of the call that fails
	how        string
	long       bool // and all calls of that kind after it
	noTruncate bool // every truncate fails
}

func (f *faults) next(what string) (how string) {
	f.calls = append(f.calls, what)
	if i := len(f.calls) - 1; i == f.at || f.long && f.at >= 0 && i > f.at && what == f.calls[f.at] {
		return f.how
	}
	return ""
}

func (f *faults) options() journal.Options {
	o := quick
	o.FlushWait = time.Millisecond
	o.Write = func(file *os.File, p []byte) (int, error) {
		switch f.next("write") {
		case "EIO":
			return 0, syscall.EIO
		case "ENOSPC":
			n, _ := file.Write(p[:len(p)/2])
			return n, syscall.ENOSPC
		case "ENOSPC at the end":
			n, _ := file.Write(p[:len(p)-1])
			return n, syscall.ENOSPC
		case "short":
			return file.Write(p[:len(p)/3])
		case "written and EIO":
			n, _ := file.Write(p)
			return n, syscall.EIO
		}
		return file.Write(p)
	}
	o.Sync = func(*os.File) error {
		if f.next("sync") != "" {
			return syscall.EIO
		}
		return nil
	}
	o.Truncate = func(file *os.File, size int64) error {
		if f.next("truncate") != "" || f.noTruncate {
			return syscall.EIO
		}
		return file.Truncate(size)
	}
	return o
}

// whole reports that the fault comes when all of the append is in the segment.
func (f *faults) whole(calls string) bool {
	last := strings.Count(calls, " ") // the flush of the segment
	return f.at == last || f.at == last-1 && f.how == "written and EIO"
}

var faultModes = map[string][]string{
	"write":    {"EIO", "ENOSPC", "ENOSPC at the end", "short", "written and EIO"},
	"sync":     {"EIO"},
	"truncate": {"EIO"},
}

// TestFaults makes every file operation of every kind of append fail, once and from then on. An
// append that is not whole on disk has no effect, and the next append works as if it had not been
// tried. An append that is whole and not flushed stays and is flushed again; its writer folds
// nothing before the flush has worked.
func TestFaults(t *testing.T) {
	t.Parallel()
	large := journal.Draft{Kind: "large", Body: strings.Repeat("large ", 2000)}
	for name, tt := range map[string]struct {
		drafts  []journal.Draft
		torn    bool
		segment int64
		fresh   bool
		calls   string
	}{
		"one":   {drafts: []journal.Draft{journaltest.Note(10)}, calls: "write sync"},
		"three": {drafts: []journal.Draft{journaltest.Note(10), journaltest.Note(11), journaltest.Note(12)}, calls: "write sync"},
		// The directories, then the line.
		"first":       {drafts: []journal.Draft{journaltest.Note(10)}, fresh: true, calls: "sync sync sync write sync"},
		"new segment": {drafts: []journal.Draft{journaltest.Note(10), journaltest.Note(11)}, segment: 500, calls: "sync write sync"},
		// The directory of bodies is new; then the body, its name, the line.
		"large": {drafts: []journal.Draft{journaltest.Note(10), large}, calls: "sync write sync sync write sync"},
		"after a torn one": {drafts: []journal.Draft{journaltest.Note(10), large}, torn: true,
			calls: "sync write sync sync truncate sync write sync sync write sync"},
	} {
		run := func(t *testing.T, f *faults) (failed bool) {
			d := newDir(t)
			var before []journal.Record
			if !tt.fresh {
				j, fold := open(t, d, quick)
				notes(t, j, 3)
				before = fold.Records
			}
			if tt.torn {
				file, err := os.OpenFile(segment(d, 1), os.O_WRONLY|os.O_APPEND, 0)
				testenv.Must(t, err)
				_, err = file.WriteString(`{"v":1,"must":tr`)
				testenv.Must(t, errors.Join(err, file.Close()))
			}
			o := f.options()
			o.Segment = tt.segment
			j, fold := open(t, d, o)
			follower, followed := open(t, d, quick)
			recs, err := j.Append(t.Context(), someone, func() ([]journal.Draft, error) { return tt.drafts, nil })
			if err == nil {
				if len(recs) != len(tt.drafts) {
					t.Fatalf("%d records", len(recs))
				}
				return false
			}
			if recs != nil || !errors.Is(err, syscall.EIO) && !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, io.ErrShortWrite) {
				t.Fatalf("Append = %v, %v", recs, err)
			}
			same(t, "the fold after the error", fold.Records, before)
			there, whole := len(verified(t, d))-len(before), 0
			if f.whole(tt.calls) && !(tt.torn && f.noTruncate) {
				whole = len(tt.drafts)
				if tt.torn {
					whole++ // repaired
				}
				if err := j.Refresh(t.Context()); err == nil {
					t.Fatal("what is not flushed was folded")
				}
				refresh(t, follower)
				same(t, "what others read", followed.Records, verified(t, d))
			}
			if there != whole {
				t.Fatalf("%d records of %d are there after %v", there, len(tt.drafts), err)
			}
			f.noTruncate, f.at = false, -1
			journaltest.Append(t, j, someone, journaltest.Note(99))
			refresh(t, follower)
			same(t, "the follower's fold", followed.Records, fold.Records)
			same(t, "on disk", verified(t, d), fold.Records)
			want := len(before) + there + 1
			repairs := 0
			for _, r := range fold.Records {
				if r.Kind == journal.KindRepaired {
					repairs++
				}
			}
			if tt.torn && repairs == 0 || repairs > 2 {
				t.Fatalf("%d repairs on record", repairs)
			}
			if there == 0 {
				want += repairs
			}
			if len(fold.Records) != want {
				t.Fatalf("%d records, want %d", len(fold.Records), want)
			}
			return true
		}
		t.Run(name, func(t *testing.T) {
			plan := &faults{at: -1}
			if run(t, plan) {
				t.Fatal("fails without a fault")
			}
			if got := strings.Join(plan.calls, " "); got != tt.calls {
				t.Fatalf("%s, want %s", got, tt.calls)
			}
			for at, call := range plan.calls {
				for _, how := range faultModes[call] {
					for _, stuck := range []bool{false, true} {
						for _, long := range []bool{false, true} {
							t.Run(fmt.Sprintf("%s %d %s stuck=%v long=%v", call, at, how, stuck, long), func(t *testing.T) {
								f := &faults{at: at, how: how, long: long, noTruncate: stuck}
								want := long || !f.whole(tt.calls) || stuck && tt.torn
								if got := run(t, f); got != want {
									t.Errorf("fails: %v", got)
								}
							})
						}
					}
				}
			}
		})
	}
}

// TestUnflushed: an append that a reader has folded is not taken back when its flush fails. Its
// writer continues once the flush works; the reader is not interrupted.
func TestUnflushed(t *testing.T) {
	t.Parallel()
	for _, next := range []int{0, 1, 2} {
		d, j0 := noted(t, 0)
		reader, seen := open(t, d, quick)
		o, broken, flushed := quick, true, 0
		o.FlushWait = time.Millisecond
		o.Sync = func(*os.File) error {
			refresh(t, reader)
			if broken {
				return syscall.EIO
			}
			flushed++
			return nil
		}
		j, fold := open(t, d, o)
		_, err := j.Append(t.Context(), someone, func() ([]journal.Draft, error) {
			return []journal.Draft{{Kind: "decided", Body: "allow"}}, nil
		})
		if !errors.Is(err, syscall.EIO) || len(seen.Records) != 2 || len(fold.Records) != 1 {
			t.Fatalf("%v; the reader saw %d, the writer %d", err, len(seen.Records), len(fold.Records))
		}
		for range next {
			journaltest.Append(t, j0, someone, journal.Draft{Kind: "decided", Body: "deny!"})
		}
		if err := j.Refresh(t.Context()); !errors.Is(err, syscall.EIO) || len(fold.Records) != 1 {
			t.Fatalf("it was folded before it was flushed: %v", err)
		}
		broken = false
		refresh(t, j)
		refresh(t, reader)
		same(t, "the writer's fold", fold.Records, verified(t, d))
		same(t, "the reader's fold", seen.Records, verified(t, d))
		if len(fold.Records) != 2+next || flushed != 1 {
			t.Errorf("%d records, flushed %d times", len(fold.Records), flushed)
		}
		journaltest.Append(t, reader, someone, journaltest.Note(1))
	}
}

// TestFlushAwaited: an append whose flush works after some tries succeeds, even when others
// appended in between. Its records are folded once, in their order.
func TestFlushAwaited(t *testing.T) {
	t.Parallel()
	d, j0 := noted(t, 0)
	o, tries := quick, 0
	o.FlushWait = -1
	o.Sync = func(*os.File) error {
		if tries++; tries == 6 { // the lock is free by then
			journaltest.Append(t, j0, someone, journaltest.Note(2))
		}
		if tries < 8 {
			return syscall.EIO
		}
		return nil
	}
	j, fold := open(t, d, o)
	recs := journaltest.Append(t, j, someone, journaltest.Note(1))
	if len(recs) != 1 || recs[0].Seq != 2 {
		t.Errorf("%v", recs)
	}
	same(t, "the fold", fold.Records, verified(t, d))
	if len(fold.Records) != 3 {
		t.Errorf("%d records", len(fold.Records))
	}
	ctx, cancel := context.WithCancel(t.Context())
	tries = 0
	cancel()
	if _, err := j.Append(ctx, someone, func() ([]journal.Draft, error) { return []journal.Draft{journaltest.Note(3)}, nil }); err == nil {
		t.Error("appended without a flush")
	}
}

// TestUnflushedIsGone: an append fails when another program removes its lines before the flush
// worked.
func TestUnflushedIsGone(t *testing.T) {
	t.Parallel()
	for _, gone := range []int{1, 3, 6} {
		d, _ := noted(t, 0)
		before := read(t, segment(d, 1))
		o, tries := quick, 0
		o.Sync = func(*os.File) error {
			if tries++; tries == gone {
				testenv.Must(t, os.Truncate(segment(d, 1), int64(len(before))))
			}
			return syscall.EIO
		}
		j, fold := open(t, d, o)
		recs, err := j.Append(t.Context(), someone, func() ([]journal.Draft, error) { return []journal.Draft{journaltest.Note(1)}, nil })
		if err == nil || recs != nil || len(fold.Records) != 1 {
			t.Errorf("gone at flush %d: %v, %v, %d folded", gone, recs, err, len(fold.Records))
		}
	}
}

// TestTakenBack: a reader notices that another program cut off lines which it has folded, whatever
// was appended since, and refuses to continue.
func TestTakenBack(t *testing.T) {
	t.Parallel()
	for _, next := range []int{0, 1, 2} {
		d, j0 := noted(t, 0)
		before := read(t, segment(d, 1))
		reader, _ := open(t, d, quick)
		journaltest.Append(t, j0, someone, journal.Draft{Kind: "decided", Body: "allow"})
		refresh(t, reader)
		cut, err := os.Stat(segment(d, 1))
		testenv.Must(t, err)
		testenv.Must(t, os.Truncate(segment(d, 1), int64(len(before))))
		forget(t, d)
		j1, _ := open(t, d, quick)
		for range next {
			journaltest.Append(t, j1, someone, journal.Draft{Kind: "decided", Body: "deny!"})
		}
		if st, err := os.Stat(segment(d, 1)); err != nil || next == 1 && st.Size() != cut.Size() {
			t.Fatalf("%v, %v: want what is just as long as what was cut", st.Size(), err)
		}
		// The modification time does not show the change either: a coarse clock gives both files the
		// same.
		testenv.Must(t, os.Chtimes(segment(d, 1), cut.ModTime(), cut.ModTime()))
		_, err = reader.Append(t.Context(), someone, func() ([]journal.Draft, error) { return nil, errors.New("was asked") })
		if next == 0 {
			breakAt(t, err, "00000001.jsonl", 3, 3) // shorter
		} else {
			breakAt(t, err, "00000001.jsonl", 2, 2) // another line
		}
	}
}

// TestRollRefused: an append that would have begun a new segment and is refused
// leaves everything as it is.
func TestRollRefused(t *testing.T) {
	t.Parallel()
	d := newDir(t)
	o := quick
	o.Segment = 100
	j, fold := open(t, d, o)
	journaltest.Append(t, j, someone, journaltest.Note(0))
	if _, err := j.Append(t.Context(), someone, func() ([]journal.Draft, error) { return []journal.Draft{{Kind: "bad kind"}}, nil }); err == nil {
		t.Fatal("a bad kind was taken")
	}
	refresh(t, j)
	journaltest.Append(t, j, someone, journaltest.Note(1))
	same(t, "on disk", verified(t, d), fold.Records)
}

// TestBodyCannotBeStored: an append writes no line when its body cannot be stored.
func TestBodyCannotBeStored(t *testing.T) {
	t.Parallel()
	d := newDir(t)
	j, fold := open(t, d, quick)
	journaltest.Append(t, j, someone, journaltest.Note(0))
	bodies := filepath.Join(d.Path, "leader", "bodies")
	write(t, bodies, nil)
	before := read(t, segment(d, 1))
	large := journal.Draft{Kind: "large", Body: strings.Repeat("large ", 2000)}
	if _, err := j.Append(t.Context(), someone, func() ([]journal.Draft, error) {
		return []journal.Draft{journaltest.Note(1), large}, nil
	}); err == nil {
		t.Fatal("stored")
	}
	if string(before) != string(read(t, segment(d, 1))) {
		t.Fatal("written")
	}
	testenv.Must(t, os.Remove(bodies))
	journaltest.Append(t, j, someone, large)
	same(t, "on disk", verified(t, d), fold.Records)
}
