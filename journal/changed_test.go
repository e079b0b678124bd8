package journal_test

import (
	"bytes"
	"errors"
	"os"
	"testing"
	"time"

	"waggle/journal"
	"waggle/journal/journaltest"
)

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
	must(t, err)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteAt([]byte("X"), int64(bytes.IndexByte(b, '\n')+40))
	must(t, errors.Join(err, f.Close()))
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
		must(t, err)
		editor, err := os.OpenFile(f.Name(), os.O_WRONLY, 0)
		must(t, err)
		_, err = editor.WriteAt([]byte("X"), int64(bytes.IndexByte(b, '\n')+40))
		must(t, errors.Join(err, editor.Close(), os.Chtimes(f.Name(), time.Time{}, time.Unix(1577836800, 0))))
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
