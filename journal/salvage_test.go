package journal_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/journal/journaltest"
)

// TestSalvage: Salvage shows every record whose line is intact, in the order of the segments,
// whatever is around it; it does not show a body in a file of its own, a line of another journal,
// the rest of a line beyond the limit, or a file that is no segment.
func TestSalvage(t *testing.T) {
	d := newDir(t)
	o := quick
	o.Segment = 1500
	j, fold := open(t, d, o)
	notes(t, j, 12)
	journaltest.Append(t, j, someone, journal.Draft{Kind: "large", Body: strings.Repeat("x", journal.MaxInline)})
	journaltest.Append(t, j, someone, journaltest.Note(12))
	found := func() (seqs []journal.Seq, err error) {
		err = d.Salvage(journal.Leader, func(r journal.Record) {
			if want := fold.Records[r.Seq-1]; r.Kind != want.Kind || string(r.Body) != string(want.Body) {
				t.Errorf("%+v, want %+v", r, want)
			}
			seqs = append(seqs, r.Seq)
		})
		return seqs, err
	}
	var want []journal.Seq
	for _, r := range fold.Records {
		if r.Ref == nil {
			want = append(want, r.Seq)
		}
	}
	if got, err := found(); err != nil || !slices.Equal(got, want) || len(want) != 13 {
		t.Errorf("%v, %v; want %v", got, err, want)
	}

	// A byte of line 2, a line beyond the limit before line 4 with a whole record at its end, a
	// line of another journal, and one that is cut.
	b := slices.Collect(strings.Lines(string(read(t, segment(d, 1)))))
	b[1] = strings.Replace(b[1], `"kind":"`, `"kind":"x`, 1)
	b[3] = strings.Repeat(" ", 64<<10) + b[2] + b[3]
	b[2] = string(journal.EncodeLine(journal.Record{V: 1, Journal: "feed", Seq: 3, Prev: fold.Records[2].Prev, Kind: "note"}, false))
	write(t, segment(d, 1), []byte(strings.Join(b, "")))
	last := read(t, segment(d, 2))
	write(t, segment(d, 2), last[:len(last)-1])
	testenv.Must(t, os.Mkdir(segment(d, 7), 0o700))
	write(t, filepath.Join(d.Path, "leader", "9.jsonl"), last)
	lines := slices.Collect(strings.Lines(string(last)))
	cut, _, err := journal.DecodeLine([]byte(lines[len(lines)-1]))
	testenv.Must(t, err)
	want = slices.DeleteFunc(want, func(s journal.Seq) bool { return s == 2 || s == 3 || s == cut.Seq })
	if got, err := found(); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}

	testenv.Must(t, os.RemoveAll(filepath.Join(d.Path, "leader")))
	if got, err := found(); got != nil || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no journal: %v, %v", got, err)
	}
}

// TestSalvageUnreadable: a segment that cannot be read is an error, and the others are shown.
func TestSalvageUnreadable(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root reads everything")
	}
	d := newDir(t)
	o := quick
	o.Segment = 400
	j, _ := open(t, d, o)
	notes(t, j, 6)
	testenv.Must(t, os.Chmod(segment(d, 2), 0))
	n := 0
	err := d.Salvage(journal.Leader, func(journal.Record) { n++ })
	if !errors.Is(err, fs.ErrPermission) || n != 4 {
		t.Errorf("%d records, %v", n, err)
	}
}

// TestNewest: Newest shows the records of one kind, segment by segment from the newest, as long as segments
// were written since a time or more is asked for.
func TestNewest(t *testing.T) {
	d := newDir(t)
	o := quick
	o.Segment = 1500
	j, fold := open(t, d, o)
	for i := range 12 {
		journaltest.Append(t, j, someone, journaltest.Note(i), journal.Draft{Kind: "other", Body: `"kind":"note"`})
	}
	ends := segments(t, d)
	if ends < 4 {
		t.Fatalf("%d segments", ends)
	}
	now := time.Now()
	for n := 1; n <= ends-2; n++ {
		testenv.Must(t, os.Chtimes(segment(d, n), now.Add(-time.Hour), now.Add(-time.Hour)))
	}
	for name, c := range map[string]struct {
		since time.Time
		more  int // how often more is asked for
		looks int
	}{
		"all":              {since: now.Add(-2 * time.Hour), looks: ends},
		"of late":          {since: now.Add(-time.Minute), looks: 2},
		"later":            {since: now.Add(time.Hour), looks: 0},
		"and one before":   {since: now.Add(-time.Minute), more: 2, looks: 3},
		"and all the rest": {since: now.Add(-time.Minute), more: 100, looks: ends},
	} {
		looks, last := 0, journal.Seq(len(fold.Records)+1)
		err := d.Newest(journal.Leader, "note", c.since, func(rs []journal.Record) bool {
			for i, r := range rs {
				if r.Kind != "note" || string(r.Body) != string(fold.Records[r.Seq-1].Body) || r.Seq >= last || i > 0 && r.Seq < rs[i-1].Seq {
					t.Errorf("%s: %+v", name, r)
				}
			}
			if len(rs) > 0 {
				last = rs[0].Seq
			}
			looks++
			return looks <= c.more
		})
		if err != nil || looks != c.looks {
			t.Errorf("%s: %d looks, want %d; %v", name, looks, c.looks, err)
		}
	}
	if err := d.Newest("none", "note", now, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no journal: %v", err)
	}
}

func segments(t *testing.T, d journal.Dir) int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(d.Path, "leader", "0*.jsonl"))
	testenv.Must(t, err)
	return len(files)
}
