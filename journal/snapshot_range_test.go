package journal_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"testing"

	"waggle/journal/journaltest"
)

// TestSnapshotOfNoLine: a snapshot that names no line of the journal, under a sum that
// fits, is not used; no memory is taken for what it names.
func TestSnapshotOfNoLine(t *testing.T) {
	t.Parallel()
	d := newDir(t)
	o := quick
	o.SnapshotAfter = 3
	j := openTally(t, d, &tally{}, o)
	for i := range 4 {
		journaltest.Append(t, j, someone, journaltest.Note(i))
	}
	openTally(t, d, &tally{}, o)
	names := snapshots(t, d)
	if len(names) != 1 {
		t.Fatalf("snapshots: %v", names)
	}
	good := read(t, names[0])
	for name, at := range map[string][2]int64{
		"before the file": {-1, 100}, "nothing": {100, 100}, "backwards": {100, 50}, "far too much": {0, math.MaxInt64}, "behind the end": {1 << 40, 1<<40 + 100},
	} {
		parts := bytes.SplitN(good, []byte("\n"), 3)
		var head map[string]any
		must(t, json.Unmarshal(parts[1], &head))
		head["start"], head["end"] = at[0], at[1]
		b, err := json.Marshal(head)
		must(t, err)
		rest := append(append(b, '\n'), parts[2]...)
		sum := sha256.Sum256(rest)
		write(t, names[0], append([]byte(hex.EncodeToString(sum[:])+"\n"), rest...))
		f, o := &tally{}, o
		o.SnapshotAfter = 100 // do not save
		openTally(t, d, f, o)
		if f.applied != 4 || f.Seq != 4 {
			t.Errorf("%s: %d records were folded of 4, up to %d", name, f.applied, f.Seq)
		}
	}
	write(t, names[0], good)
	f := &tally{}
	openTally(t, d, f, o)
	if f.applied != 0 || f.Seq != 4 {
		t.Errorf("the good one: %d records were folded, up to %d", f.applied, f.Seq)
	}
}
