package journal_test

import (
	"bytes"
	"strings"
	"testing"

	"waggle/journal"
)

// TestTornWhileRead: a reader without the lock meets an append that lacks its newline, and
// the newline of the one that was put in its place. What was never whole is not folded.
func TestTornWhileRead(t *testing.T) {
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
