package journal_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"waggle/journal"
	"waggle/journal/journaltest"
)

// redo is a Recorder with Reset.
type redo struct {
	journaltest.Recorder
	resets int
}

func (r *redo) Reset()                  { r.Records, r.resets = nil, r.resets+1 }
func (*redo) Hold()                     {}
func (*redo) Keep()                     {}
func (*redo) MaySetAside(k string) bool { return false }

var _ journal.Tentative = (*redo)(nil)

// TestBreakUndone breaks a journal that two Files have open and puts the bytes back: both refuse
// everything while it is broken, keep their folds, and continue afterwards without being opened
// again.
func TestBreakUndone(t *testing.T) {
	t.Parallel()
	damage := map[string]func(t *testing.T, path string, b []byte){
		"a byte":    func(t *testing.T, path string, b []byte) { write(t, path, flipped(b, len(b)/3)) },
		"shorter":   func(t *testing.T, path string, b []byte) { write(t, path, b[:len(b)/2]) },
		"no line 2": func(t *testing.T, path string, b []byte) { write(t, path, without(b, 1)) },
		"gone":      func(t *testing.T, path string, _ []byte) { must(t, os.Remove(path)) },
		"a directory": func(t *testing.T, path string, _ []byte) {
			must(t, os.Remove(path))
			must(t, os.Mkdir(path, 0o700))
		},
	}
	for name, harm := range damage {
		t.Run(name, func(t *testing.T) {
			now := fixed()
			o := journal.Options{Now: func() time.Time { return now }, Sync: noSync}
			d := newDir(t)
			var mine, its redo
			j := openFold(t, d, &mine, o)
			notes(t, j, 6)
			reader := openFold(t, d, &its, o)
			whole := read(t, segment(d, 1))
			harm(t, segment(d, 1), whole)
			must(t, touch(segment(d, 1)))
			for range 20 {
				_, aerr := j.Append(t.Context(), someone, func() ([]journal.Draft, error) {
					t.Error("propose was called on a broken journal")
					return nil, nil
				})
				for who, err := range map[string]error{"append": aerr, "refresh": reader.Refresh(t.Context())} {
					if b, ok := errors.AsType[*journal.BrokenError](err); !ok || b.Gone {
						t.Fatalf("%s = %v, want a break", who, err)
					}
				}
				if len(mine.Records) != 6 || len(its.Records) != 6 {
					t.Fatalf("the folds have %d and %d records of 6", len(mine.Records), len(its.Records))
				}
				now = now.Add(time.Second)
			}
			must(t, os.RemoveAll(segment(d, 1)))
			write(t, segment(d, 1), whole)
			if err := reader.Refresh(t.Context()); err == nil {
				t.Error("it was read again before the pause was over")
			}
			now = now.Add(5 * time.Second)
			journaltest.Append(t, j, someone, journaltest.Note(6))
			refresh(t, reader)
			same(t, "the reader's fold", its.Records, mine.Records)
			same(t, "on disk", verified(t, d), mine.Records)
			if len(mine.Records) != 7 || mine.resets == 0 {
				t.Errorf("%d records after %d resets", len(mine.Records), mine.resets)
			}
		})
	}
}

// TestBreakNotUndone replaces a broken journal with another journal of the same team: a File that
// has read the first one folds nothing of it.
func TestBreakNotUndone(t *testing.T) {
	t.Parallel()
	for name, other := range map[string]int{"shorter": 3, "as long": 6, "longer": 9} {
		t.Run(name, func(t *testing.T) {
			now := fixed()
			o := journal.Options{Now: func() time.Time { return now }, Sync: noSync}
			d := newDir(t)
			var fold redo
			j := openFold(t, d, &fold, o)
			notes(t, j, 6)
			d2 := newDir(t)
			j2, _ := open(t, d2, quick)
			for i := range other {
				journaltest.Append(t, j2, someone, journaltest.Note(100+i))
			}
			must(t, os.Remove(segment(d, 1)))
			write(t, segment(d, 1), read(t, segment(d2, 1)))
			for range 10 {
				if b, ok := errors.AsType[*journal.BrokenError](j.Refresh(t.Context())); !ok || b.Gone {
					t.Fatalf("refresh = %v, want a break", b)
				}
				now = now.Add(5 * time.Second)
			}
			if len(fold.Records) != 6 {
				t.Errorf("%d records of 6", len(fold.Records))
			}
		})
	}
}

// TestBreakGone: a break is final when the directory of the team's journals was removed.
func TestBreakGone(t *testing.T) {
	t.Parallel()
	now := fixed()
	o := journal.Options{Now: func() time.Time { return now }, Sync: noSync}
	d := newDir(t)
	var fold redo
	j := openFold(t, d, &fold, o)
	journaltest.Append(t, j, someone, journaltest.Note(1))
	aside := filepath.Join(t.TempDir(), "aside")
	write(t, segment(d, 1), flipped(read(t, segment(d, 1)), 20))
	must(t, touch(segment(d, 1)))
	if err := j.Refresh(t.Context()); err == nil {
		t.Fatal("a flipped byte was not noticed")
	}
	must(t, os.Rename(d.Path, aside))
	now = now.Add(5 * time.Second)
	if b, ok := errors.AsType[*journal.BrokenError](j.Refresh(t.Context())); !ok || !b.Gone {
		t.Errorf("refresh = %v, want a break of what is gone", b)
	}
}

func flipped(b []byte, at int) []byte {
	b = bytes.Clone(b)
	b[at] ^= 1
	return b
}

// without is b without one line.
func without(b []byte, line int) []byte {
	lines := bytes.SplitAfter(b, []byte("\n"))
	return bytes.Join(append(lines[:line:line], lines[line+1:]...), nil)
}

// touch changes a file's modification time to one that it did not have.
func touch(path string) error {
	err := os.Chtimes(path, time.Unix(1, 0), time.Unix(1, 0))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
