package journal_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/journal/journaltest"
)

// FuzzDecodeLine: decodeLine never panics, and a line has one spelling: a decoded line encodes to
// the same bytes. The test corrects the sum, so that the fuzzer gets past it.
func FuzzDecodeLine(f *testing.F) {
	s := newSample(f, 9)
	for _, l := range s.lines {
		head, _, _ := bytes.Cut(l, []byte(`,"sum":`))
		f.Add(head)
	}
	for _, w := range []journal.Writer{{}, {Operator: true, PID: 9}, {Instance: "a b", Operator: true, Epoch: 1 << 63, PID: 1 << 40}} {
		head, _, _ := bytes.Cut(journal.Line(1, "", w, "k.e_y-9", `{"a":[1,2,{}]}`), []byte(`,"sum":`))
		f.Add(head)
	}
	f.Fuzz(func(t *testing.T, head []byte) {
		_, _, _ = journal.DecodeLine(head)
		if bytes.Contains(head, []byte("\n")) {
			return // it would be several lines
		}
		l := append(bytes.Clone(head), `,"sum":"`+journal.LineSum(head)+"\"}\n"...)
		r, more, err := journal.DecodeLine(l)
		if err != nil {
			return
		}
		if again := journal.EncodeLine(r, more); !bytes.Equal(again, l) {
			t.Fatalf("read   %s\nwritten %s", l, again)
		}
	})
}

// FuzzRefresh: Refresh folds only whole appends whose lines are chained from the genesis, and never
// panics. A journal that accepts an append is whole afterwards.
func FuzzRefresh(f *testing.F) {
	s := newSample(f, 9)
	f.Add(s.bytes, uint16(0), false)
	f.Add(s.bytes[:len(s.bytes)-7], uint16(40), true)
	f.Add(bytes.Join([][]byte{s.lines[0], s.lines[2], s.lines[1]}, nil), uint16(300), true)
	f.Add(append(bytes.Clone(s.bytes), s.lines[0]...), uint16(2), true)
	f.Add([]byte("{\"v\":2}\n"), uint16(1), true)
	f.Add(bytes.Repeat([]byte{0}, 20000), uint16(1), true)
	f.Fuzz(func(t *testing.T, b []byte, at uint16, mend bool) {
		if mend {
			b = mended(b)
		}
		d := journal.Dir{Path: t.TempDir(), UID: uid}
		testenv.Must(t, os.CopyFS(filepath.Join(d.Path, "leader", "bodies"), os.DirFS(filepath.Join(s.dir.Path, "leader", "bodies"))))
		testenv.Must(t, os.Chmod(filepath.Join(d.Path, "leader"), 0o700))
		write(t, segment(d, 1), b[:min(int(at), len(b))])
		var fold journaltest.Recorder
		j, err := d.Open(journal.Leader, &fold, quick)
		if err == nil {
			write(t, segment(d, 1), b) // the same file, grown
			err = j.Refresh(t.Context())
		}
		chained(t, b, fold.Records)
		if err != nil {
			return
		}
		_, err = j.Append(t.Context(), someone, func() ([]journal.Draft, error) { return []journal.Draft{journaltest.Note(1)}, nil })
		if err == nil {
			same(t, "on disk", verified(t, d), fold.Records)
		} else if !errors.As(err, new(*journal.StaleError)) {
			t.Fatal(err)
		}
	})
}

// mended puts the sums and the chain of lines right, so that the fuzzer gets past
// them.
func mended(b []byte) []byte {
	var out []byte
	prev := journal.Genesis(uid, journal.Leader)
	for l := range bytes.Lines(b) {
		head, _, ok := bytes.Cut(l, []byte(`,"sum":"`))
		if i := bytes.Index(head, []byte(`"prev":"`)); ok && i >= 0 && len(head) > i+72 {
			head = append(append(bytes.Clone(head[:i+8]), prev...), head[i+72:]...)
			l = append(head, `,"sum":"`+journal.LineSum(head)+"\"}\n"...)
		}
		sum := sha256.Sum256(l)
		prev = hex.EncodeToString(sum[:])
		out = append(out, l...)
	}
	return out
}

// chained checks that records are the first lines of b, each with the hash of the
// one before, up to the end of an append.
func chained(t *testing.T, b []byte, recs []journal.Record) {
	t.Helper()
	prev := journal.Genesis(uid, journal.Leader)
	for i, r := range recs {
		l, rest, ok := bytes.Cut(b, []byte("\n"))
		last := i == len(recs)-1
		if !ok || r.Prev != prev || r.Seq != journal.Seq(i+1) {
			t.Fatalf("record %d is not chained: %+v", i+1, r)
		}
		if last && bytes.Contains(l, []byte(`,"more":true,"sum":`)) {
			t.Fatalf("record %d is not the last of its append", i+1)
		}
		sum := sha256.Sum256(append(bytes.Clone(l), '\n'))
		prev, b = hex.EncodeToString(sum[:]), rest
	}
}
