//go:build unix

package journal_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"waggle/journal"
	"waggle/journal/journaltest"
)

// TestBreakStaysInOpenDirectory: a broken journal whose lines are whole again is not read
// on before a pause is over, nor while others may write its directory.
func TestBreakStaysInOpenDirectory(t *testing.T) {
	t.Parallel()
	now := fixed()
	o := journal.Options{Now: func() time.Time { return now }, Sync: noSync}
	d := newDir(t)
	dir := filepath.Join(d.Path, "leader")
	var fold redo
	j := openFold(t, d, &fold, o)
	journaltest.Append(t, j, someone, journaltest.Note(1))
	var mine redo
	reader := openFold(t, d, &mine, o)
	whole := read(t, segment(d, 1))
	write(t, segment(d, 1), flipped(whole, 40))
	broken := func(when string) {
		t.Helper()
		if _, ok := errors.AsType[*journal.BrokenError](reader.Refresh(t.Context())); !ok {
			t.Errorf("%s: it is read", when)
		}
		now = now.Add(time.Minute)
	}
	if err := reader.Refresh(t.Context()); err == nil {
		t.Fatal("a byte is another, and it is read")
	}
	write(t, segment(d, 1), whole)
	broken("the pause is not over")
	must(t, os.Chmod(dir, 0o777))
	broken("others may write its directory")
	must(t, os.Chmod(dir, 0o700))
	if err := reader.Refresh(t.Context()); err != nil || len(mine.Records) != 1 {
		t.Errorf("whole again: %d records, %v", len(mine.Records), err)
	}
}
