package journal_test

import (
	"bytes"
	"strings"
	"testing"

	"waggle/journal"
)

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
