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
