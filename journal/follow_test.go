package journal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/journal/journaltest"
)

// part is the body of a record: its position within its append.
type part struct {
	Append int `json:"append"`
	Part   int `json:"part"`
	Of     int `json:"of"`
}

func parts(i, of int) (drafts []journal.Draft) {
	for p := range of {
		drafts = append(drafts, journal.Draft{Kind: "part", Body: part{i, p + 1, of}})
	}
	return drafts
}

// endsWhole checks that the last record is the last one of its append.
func endsWhole(t *testing.T, recs []journal.Record) bool {
	if len(recs) == 0 || recs[len(recs)-1].Kind != "part" {
		return true
	}
	var p part
	if err := json.Unmarshal(recs[len(recs)-1].Body, &p); err != nil || p.Part != p.Of {
		t.Errorf("a reader saw part %d of %d, %v", p.Part, p.Of, err)
		return false
	}
	return true
}

// slowly writes in pieces that a reader may see one by one, and fails at times.
func slowly(o journal.Options, rnd *rand.Rand) journal.Options {
	o.Write = func(f *os.File, p []byte) (n int, err error) {
		stop := len(p)
		if rnd.IntN(4) == 0 {
			stop = rnd.IntN(len(p))
		}
		for n < stop {
			m, err := f.Write(p[n:min(stop, n+1+rnd.IntN(200))])
			n += m
			if err != nil {
				return n, err
			}
			runtime.Gosched()
		}
		if n < len(p) {
			return n, syscall.ENOSPC
		}
		return n, nil
	}
	o.Truncate = func(f *os.File, size int64) error {
		if rnd.IntN(2) == 0 {
			return syscall.EIO
		}
		return f.Truncate(size)
	}
	return o
}

// TestFollow runs readers beside a writer that writes in pieces, fails, is cut and starts new
// segments. At every moment a reader's fold is a prefix of the writer's that ends with a whole
// append, and no read reports a break.
func TestFollow(t *testing.T) {
	t.Parallel()
	appends := testenv.Scale(100, 5000)
	d := newDir(t)
	rnd := rand.New(rand.NewPCG(1, 2))
	o := slowly(journal.Options{Sync: noSync, Segment: 3000}, rnd)
	w, fold := open(t, d, o)
	done := make(chan struct{})
	var wg sync.WaitGroup
	readers := make([]*journaltest.Recorder, 3)
	for i := range readers {
		j, seen := open(t, d, journal.Options{})
		readers[i] = seen
		wg.Go(func() {
			for ended := false; ; {
				if err := j.Refresh(t.Context()); err != nil {
					t.Error(err)
					return
				}
				if !endsWhole(t, seen.Records) || ended {
					return
				}
				select {
				case <-done:
					ended = true // and once more
				default:
				}
			}
		})
	}
	failed := 0
	for i := 0; i < appends; {
		_, err := w.Append(t.Context(), someone, func() ([]journal.Draft, error) { return parts(i, 1+rnd.IntN(4)), nil })
		switch {
		case err == nil:
			i++
		case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EIO):
			failed++
		default:
			t.Error(err)
			i = appends
		}
	}
	close(done)
	wg.Wait()
	for _, seen := range readers {
		if len(seen.Records) < len(fold.Records) {
			t.Errorf("a reader has %d of %d records", len(seen.Records), len(fold.Records))
		}
	}
	if t.Failed() {
		return
	}
	last := verified(t, d)
	same(t, "the writer's fold", fold.Records, last)
	for _, seen := range readers {
		same(t, "a reader's fold", seen.Records, last)
	}
	t.Logf("%d records, %d failed appends", len(last), failed)
	if _, err := os.Stat(segment(d, 10)); err != nil || failed < appends/10 {
		t.Errorf("too little happened: %v", err)
	}
}

// TestTornWhileRead: a reader without the lock reads an append without its newline and then the
// newline of the append that replaced it. It folds only lines that were once whole in the file.
func TestTornWhileRead(t *testing.T) {
	t.Parallel()
	d := newDir(t)
	j, seen := open(t, d, journal.Options{})
	failed := journal.Line(1, journal.Genesis(d.UID, journal.Leader), someone, "part", `{"append":1}`)
	stands := journal.Line(1, journal.Genesis(d.UID, journal.Leader), someone, "part", `{"append":2}`)
	if len(failed) != len(stands) {
		t.Fatal("the lines have different lengths")
	}
	torn := string(failed[:len(failed)-1]) + "\n"
	if err := j.ReadOnce(strings.NewReader(torn), bytes.NewReader(stands)); err == nil || !strings.Contains(err.Error(), "while it was read") || len(seen.Records) != 0 {
		t.Errorf("%v; folded %+v", err, seen.Records)
	}
	if err := j.ReadOnce(bytes.NewReader(stands), bytes.NewReader(stands)); err != nil || len(seen.Records) != 1 {
		t.Errorf("%v; folded %+v", err, seen.Records)
	}
}

// TestChangedBehindTheReader changes a byte in a line that an open File folded earlier. The next
// append of that File finds the change and refuses.
func TestChangedBehindTheReader(t *testing.T) {
	t.Parallel()
	d := newDir(t)
	j, _ := open(t, d, quick)
	notes(t, j, 5)
	reader, _ := open(t, d, quick)
	path := segment(d, 1)
	b, err := os.ReadFile(path)
	testenv.Must(t, err)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	testenv.Must(t, err)
	_, err = f.WriteAt([]byte("X"), int64(bytes.IndexByte(b, '\n')+40))
	testenv.Must(t, errors.Join(err, f.Close()))
	for name, try := range map[string]func() error{
		"append": func() error {
			_, err := j.Append(t.Context(), someone, func() ([]journal.Draft, error) { return []journal.Draft{journaltest.Note(9)}, nil })
			return err
		},
		"refresh": func() error { return reader.Refresh(t.Context()) },
	} {
		err := try()
		if broken, ok := errors.AsType[*journal.BrokenError](err); !ok || broken.Line != 2 || broken.Seq != 2 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestChangedDuringFlush changes a byte of an earlier line while an append is being flushed. The
// File that appended finds the change with its next reading.
func TestChangedDuringFlush(t *testing.T) {
	t.Parallel()
	d := newDir(t)
	change := false
	o := quick
	o.Sync = func(f *os.File) error {
		if !change {
			return nil
		}
		change = false
		b, err := os.ReadFile(f.Name())
		testenv.Must(t, err)
		editor, err := os.OpenFile(f.Name(), os.O_WRONLY, 0)
		testenv.Must(t, err)
		_, err = editor.WriteAt([]byte("X"), int64(bytes.IndexByte(b, '\n')+40))
		testenv.Must(t, errors.Join(err, editor.Close(), os.Chtimes(f.Name(), time.Time{}, time.Unix(1577836800, 0))))
		return nil
	}
	j, _ := open(t, d, o)
	notes(t, j, 5)
	change = true
	journaltest.Append(t, j, someone, journaltest.Note(5))
	err := j.Refresh(t.Context())
	if broken, ok := errors.AsType[*journal.BrokenError](err); !ok || broken.Line != 2 {
		t.Errorf("%v, want a break in line 2", err)
	}
}
