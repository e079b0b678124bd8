package journal_test

import (
	"bytes"
	"errors"
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

// TestFlip changes every byte of a journal in three ways, or in the usual size a sample
// of them: each change is found, and found in its line.
func TestFlip(t *testing.T) {
	t.Parallel()
	s := newSample(t, 9)
	future := 0
	first, step := testenv.Sample(t, 8)
	for off := first; off < len(s.bytes); off += step {
		for _, mask := range []byte{0x01, 0x20, 0x80} {
			b := bytes.Clone(s.bytes)
			b[off] ^= mask
			s.put(t, b)
			folded, err := refused(t, s.dir)
			if err == nil {
				t.Fatalf("byte %d ^ %#x: not found", off, mask)
			}
			n, _ := s.whole(off)
			same(t, "prefix", folded, s.recs[:n])
			if errors.As(err, new(*journal.FutureError)) {
				future++
				continue
			}
			line := s.lineOf(off)
			breakAt(t, err, "00000001.jsonl", line+1, journal.Seq(line+1))
		}
		if !bytes.Equal(read(t, segment(s.dir, 1))[:off], s.bytes[:off]) {
			t.Fatal("a broken journal was written to")
		}
	}
	if future > len(s.lines) {
		t.Errorf("%d of %d lines taken for newer ones: only the version digit may be", future, len(s.lines))
	}
}

// TestNewline replaces every byte with a newline: the reader finds a bad line there.
func TestNewline(t *testing.T) {
	t.Parallel()
	s := newSample(t, 5)
	for off, c := range s.bytes {
		if c == '\n' {
			continue
		}
		b := bytes.Clone(s.bytes)
		b[off] = '\n'
		s.put(t, b)
		_, err := refused(t, s.dir)
		line := s.lineOf(off)
		breakAt(t, err, "00000001.jsonl", line+1, journal.Seq(line+1))
	}
}

// TestLines drops, doubles and moves lines.
func TestLines(t *testing.T) {
	t.Parallel()
	s := newSample(t, 12)
	n := len(s.lines)
	try := func(what string, lines [][]byte, at int) {
		t.Helper()
		s.put(t, bytes.Join(lines, nil))
		folded, err := refused(t, s.dir)
		off := len(bytes.Join(s.lines[:at], nil))
		whole, _ := s.whole(off)
		same(t, what, folded, s.recs[:whole])
		if at < n || len(lines) > n {
			breakAt(t, err, "00000001.jsonl", at+1, journal.Seq(at+1))
		} else if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	without := func(i int) [][]byte { return append(append([][]byte{}, s.lines[:i]...), s.lines[i+1:]...) }
	for i := range n - 1 {
		try("drop", without(i), i)
	}
	for i := range n {
		for k := i; k < n; k++ {
			try("double", append(append(append([][]byte{}, s.lines[:k+1]...), s.lines[i]), s.lines[k+1:]...), k+1)
			if k > i {
				swapped := append([][]byte{}, s.lines...)
				swapped[i], swapped[k] = swapped[k], swapped[i]
				try("swap", swapped, i)
			}
		}
	}
	// A journal without its last append is whole to who does not know of it. A File that has read it
	// notices that it is missing.
	s.put(t, s.bytes)
	j, _ := open(t, s.dir, quick)
	last := s.ends[len(s.ends)-2]
	testenv.Must(t, os.Truncate(segment(s.dir, 1), int64(last)))
	breakAt(t, j.Refresh(t.Context()), "00000001.jsonl", n+1, journal.Seq(n+1))
	_, fold := open(t, s.dir, quick)
	same(t, "without the last append", fold.Records, s.recs[:s.after[len(s.after)-2]])
}

// TestForeign: a line of another team's or another member's journal does not fit,
// be it the first or a later one.
func TestForeign(t *testing.T) {
	t.Parallel()
	s := newSample(t, 4)
	for name, d := range map[string]journal.Dir{"team": {Path: s.dir.Path, UID: "other"}, "name": s.dir} {
		other := newDir(t)
		other.UID = d.UID
		as := journal.Leader
		if name == "name" {
			as = "feed"
		}
		j, err := other.Open(as, nil, quick)
		testenv.Must(t, err)
		for range 4 {
			journaltest.Append(t, j, someone, journaltest.Note(1))
		}
		lines := bytes.SplitAfter(read(t, filepath.Join(other.Path, string(as), "00000001.jsonl")), []byte("\n"))
		for i := range 4 {
			mixed := append([][]byte{}, s.lines[:4]...)
			mixed[i] = lines[i]
			s.put(t, bytes.Join(mixed, nil))
			_, err := refused(t, s.dir)
			breakAt(t, err, "00000001.jsonl", i+1, journal.Seq(i+1))
		}
	}
}

// TestFuture: a line of a newer version ends reading and appending, whatever keys it has. The lines
// before it are folded.
func TestFuture(t *testing.T) {
	t.Parallel()
	s := newSample(t, 5)
	for _, newer := range []string{`{"v":2,"shape":"new"}`, `{"v":10}`, `{"v":2,"must":false,` + string(s.lines[0][14:len(s.lines[0])-1])} {
		s.put(t, append(s.bytes[:len(s.bytes):len(s.bytes)], newer+"\n"...))
		folded, err := refused(t, s.dir)
		if !errors.As(err, new(*journal.FutureError)) || !strings.Contains(err.Error(), "upgrade") {
			t.Errorf("%s: %v", newer, err)
		}
		same(t, "before it", folded, s.recs)
	}
}

// TestBody: a body that was changed, cut, replaced or removed is located.
func TestBody(t *testing.T) {
	t.Parallel()
	s := newSample(t, 9)
	at := s.after[4]
	name := "bodies/" + s.recs[at].Ref.SHA256
	path := filepath.Join(s.dir.Path, "leader", name)
	body := read(t, path)
	check := func(what string) {
		t.Helper()
		folded, err := refused(t, s.dir)
		if err == nil {
			t.Fatalf("%s: not found", what)
		}
		same(t, "prefix", folded, s.recs[:at])
		breakAt(t, err, name, 0, journal.Seq(at+1))
	}
	for off := 0; off < len(body); off += 61 {
		b := bytes.Clone(body)
		b[off] ^= 0x20
		write(t, path, b)
		check("flip")
		write(t, path, body[:off])
		check("cut")
	}
	write(t, path, append(body[:len(body):len(body)], ' '))
	check("longer")
	testenv.Must(t, os.Remove(path))
	check("missing")
	testenv.Must(t, os.Mkdir(path, 0o700))
	check("directory")
	testenv.Must(t, os.Remove(path))
	testenv.Must(t, os.Symlink(filepath.Join(s.dir.Path, "elsewhere"), path))
	check("symbolic link")
	testenv.Must(t, os.Remove(path))

	// Appending the same body again puts the file back.
	s.put(t, s.bytes[:s.ends[4]])
	j, _ := open(t, s.dir, quick)
	journaltest.Append(t, j, someone, journal.Draft{Kind: "large", Must: true, Body: s.recs[at].Body})
	s.put(t, s.bytes)
	_, fold := open(t, s.dir, quick)
	same(t, "with the body again", fold.Records, s.recs)
}

// TestSegmentsMixed: missing, exchanged and cut segments.
func TestSegmentsMixed(t *testing.T) {
	t.Parallel()
	d := newDir(t)
	o := quick
	o.Segment = 1500
	j, fold := open(t, d, o)
	var first []journal.Seq // of each segment
	for i := range 30 {
		journaltest.Append(t, j, someone, journaltest.Note(i))
		if _, err := os.Stat(segment(d, len(first)+1)); err == nil {
			first = append(first, j.Seq())
		}
	}
	n := len(first)
	if n < 4 {
		t.Fatalf("%d segments", n)
	}
	saved := map[int][]byte{}
	for i := 1; i <= n; i++ {
		saved[i] = read(t, segment(d, i))
	}
	restore := func() {
		for i, b := range saved {
			write(t, segment(d, i), b)
		}
	}
	for i := 1; i < n; i++ {
		testenv.Must(t, os.Remove(segment(d, i)))
		folded, err := refused(t, d)
		same(t, "nothing", folded, nil)
		if b, ok := errors.AsType[*journal.BrokenError](err); !ok || b.File != filepath.Base(segment(d, i)) {
			t.Fatalf("segment %d missing: %v", i, err)
		}
		restore()

		write(t, segment(d, i), saved[i+1])
		write(t, segment(d, i+1), saved[i])
		folded, err = refused(t, d)
		breakAt(t, err, filepath.Base(segment(d, i)), 1, first[i-1])
		same(t, "before the exchange", folded, fold.Records[:first[i-1]-1])
		restore()

		for _, cut := range []int{1, 2, len(saved[i])/2 + 7} {
			write(t, segment(d, i), saved[i][:len(saved[i])-cut])
			folded, err = refused(t, d)
			line := bytes.Count(saved[i][:len(saved[i])-cut], []byte("\n"))
			breakAt(t, err, filepath.Base(segment(d, i)), line+1, first[i-1]+journal.Seq(line))
			if len(folded) != int(first[i-1])-1+line {
				t.Fatalf("%d records", len(folded))
			}
		}
		restore()

		write(t, segment(d, i), nil)
		_, err = refused(t, d)
		breakAt(t, err, filepath.Base(segment(d, i+1)), 1, first[i-1])
		restore()
	}
	same(t, "restored", verified(t, d), fold.Records)
}

// TestForged: a line with the right sum and the right prev still needs its number
// and name.
func TestForged(t *testing.T) {
	t.Parallel()
	d, j := noted(t, 1)
	good := read(t, segment(d, 1))
	for _, seq := range []journal.Seq{0, 1, 3, 1 << 63} {
		write(t, segment(d, 1), append(good[:len(good):len(good)], journal.Line(seq, j.Head(), someone, "note", "1")...))
		_, err := refused(t, d)
		breakAt(t, err, "00000001.jsonl", 2, 2)
	}
	write(t, segment(d, 1), append(good[:len(good):len(good)], journal.Line(2, j.Head(), someone, "note", "1")...))
	if _, err := refused(t, d); err != nil {
		t.Fatal(err)
	}
	testenv.Must(t, os.Rename(filepath.Join(d.Path, "leader"), filepath.Join(d.Path, "feed")))
	_, err := d.Open("feed", nil, quick)
	if b, ok := errors.AsType[*journal.BrokenError](err); !ok || b.Journal != "feed" || b.Seq != 1 {
		t.Errorf("under another name: %v", err)
	}
}

// TestEpochOnDisk: a line of an older epoch that got past Append is a break.
func TestEpochOnDisk(t *testing.T) {
	t.Parallel()
	d := newDir(t)
	j, _ := open(t, d, quick)
	journaltest.Append(t, j, journal.Writer{Instance: "feed", Epoch: 2}, journaltest.Note(1))
	good := read(t, segment(d, 1))
	for epoch, broken := range map[uint64]bool{0: false, 1: true, 2: false, 3: false} {
		line := journal.Line(j.Seq()+1, j.Head(), journal.Writer{Instance: "feed", Epoch: epoch}, "note", `{"n":2}`)
		write(t, segment(d, 1), append(good[:len(good):len(good)], line...))
		if _, err := refused(t, d); broken {
			breakAt(t, err, "00000001.jsonl", 2, 2)
		} else if err != nil {
			t.Errorf("epoch %d after 2: %v", epoch, err)
		}
	}
}

// picky is a fold that allows records of one kind to be left out.
type picky struct {
	redo
	seqs []journal.Seq
	may  string
}

func (p *picky) Apply(r journal.Record) error { p.seqs = append(p.seqs, r.Seq); return nil }
func (p *picky) Reset()                       { p.seqs = nil }
func (p *picky) MaySetAside(kind string) bool { return kind == p.may }

// TestSetAside: a repaired record leaves out the record that it names when the fold allows that for
// records of that kind. Otherwise the journal is broken.
func TestSetAside(t *testing.T) {
	t.Parallel()
	d := newDir(t)
	j := openFold(t, d, nil, quick)
	note := journaltest.Note(1)
	journaltest.Append(t, j, someone, note)
	journaltest.Append(t, j, someone, journal.Draft{Kind: journal.KindRepaired, Body: journal.Repaired{Aside: 1, Kind: note.Kind, Why: "x"}})
	journaltest.Append(t, j, someone, journaltest.Note(2))
	may := &picky{may: note.Kind}
	j2 := openFold(t, d, may, quick)
	if !slices.Equal(may.seqs, []journal.Seq{2, 3}) || len(j2.Aside()) != 1 {
		t.Errorf("folded %v, aside %v; want the first record left out", may.seqs, j2.Aside())
	}
	if _, err := d.Open(journal.Leader, &picky{may: "another"}, quick); err == nil || !strings.Contains(err.Error(), "sets "+note.Kind+" aside, which none may") {
		t.Errorf("a record that nobody may leave out is left out: %v", err)
	}
}

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
		"gone":      func(t *testing.T, path string, _ []byte) { testenv.Must(t, os.Remove(path)) },
		"a directory": func(t *testing.T, path string, _ []byte) {
			testenv.Must(t, os.Remove(path))
			testenv.Must(t, os.Mkdir(path, 0o700))
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
			testenv.Must(t, touch(segment(d, 1)))
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
			testenv.Must(t, os.RemoveAll(segment(d, 1)))
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
			testenv.Must(t, os.Remove(segment(d, 1)))
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
	testenv.Must(t, touch(segment(d, 1)))
	if err := j.Refresh(t.Context()); err == nil {
		t.Fatal("a flipped byte was not noticed")
	}
	testenv.Must(t, os.Rename(d.Path, aside))
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
