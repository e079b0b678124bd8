package journal_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"waggle/internal/test/testenv"
	_ "waggle/internal/test/testenv/seeded"
	"waggle/journal"
	"waggle/journal/journaltest"
)

// TestCut cuts a journal behind every byte, as a writer that died leaves it: the
// complete appends fold, the next append records the rest as cut. Bytes near the end of a
// line are tried in every size, a sample of the others but in soak.
func TestCut(t *testing.T) {
	t.Parallel()
	s := newSample(t, 22) // 30 lines
	if len(s.lines) < 26 {
		t.Fatalf("%d lines", len(s.lines))
	}
	s.put(t, nil)
	f, err := os.OpenFile(segment(s.dir, 1), os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	defer f.Close()
	first, step := testenv.Sample(t, 40)
	tried := func(off int) bool {
		return off%step == first || bytes.IndexByte(s.bytes[max(0, off-2):min(off+2, len(s.bytes))], '\n') >= 0
	}
	for off := range len(s.bytes) + 1 {
		if tried(off) {
			n, _ := s.whole(off)
			_, fold := open(t, s.dir, quick)
			same(t, "prefix", fold.Records, s.recs[:n])
		}
		if off < len(s.bytes) {
			_, err := f.Write(s.bytes[off : off+1])
			must(t, err)
		}
	}
	for off := range len(s.bytes) + 1 {
		if !tried(off) {
			continue
		}
		n, end := s.whole(off)
		s.put(t, s.bytes[:off])
		j, fold := open(t, s.dir, quick)
		same(t, "prefix", fold.Records, s.recs[:n])
		recs := journaltest.Append(t, j, someone, journaltest.Note(-1))
		if len(recs) != 1 || string(recs[0].Body) != `{"n":-1}` {
			t.Fatalf("cut at %d: Append returned %v", off, recs)
		}
		want := append(s.recs[:n:n], fold.Records[n:]...)
		if end == off {
			if len(want) != n+1 {
				t.Fatalf("cut at %d, between appends: %d records more", off, len(want)-n)
			}
		} else {
			if len(want) != n+2 {
				t.Fatalf("cut at %d: %d records more, want repaired and ours", off, len(want)-n)
			}
			repaired(t, s.dir, want[n], s.bytes[end:off])
		}
		_, again := open(t, s.dir, quick)
		same(t, "after the repair", again.Records, want)
		if off%50 == 0 {
			verified(t, s.dir)
		}
	}
}

// repaired checks a record of a repair.
func repaired(t tester, d journal.Dir, r journal.Record, cut []byte) {
	t.Helper()
	var body journal.Repaired
	must(t, json.Unmarshal(r.Body, &body))
	if r.Kind != journal.KindRepaired || body.Cut.Size != len(cut) {
		t.Fatalf("%s %s, want repaired of %d bytes", r.Kind, r.Body, len(cut))
	}
	if kept := read(t, filepath.Join(d.Path, "leader", "bodies", body.Cut.SHA256)); !bytes.Equal(kept, cut) {
		t.Fatalf("kept %q of %q", kept, cut)
	}
}

// TestCutAndRefused: the journal records a cut even when propose refuses or drafts nothing.
func TestCutAndRefused(t *testing.T) {
	t.Parallel()
	for _, no := range []error{nil, os.ErrPermission} {
		s := newSample(t, 3)
		off := len(s.bytes) - 1
		s.put(t, s.bytes[:off])
		n, end := s.whole(off)
		j, fold := open(t, s.dir, quick)
		recs, err := j.Append(t.Context(), someone, func() ([]journal.Draft, error) { return nil, no })
		if err != no || recs != nil {
			t.Fatalf("Append = %v, %v", recs, err)
		}
		if len(fold.Records) != n+1 {
			t.Fatalf("%d records, want %d and repaired", len(fold.Records), n)
		}
		repaired(t, s.dir, fold.Records[n], s.bytes[end:off])
		same(t, "on disk", verified(t, s.dir), fold.Records)
	}
}

// TestDiedBeforeLine: a body whose line was never written, and the temporary file of a body, do not
// disturb later appends.
func TestDiedBeforeLine(t *testing.T) {
	t.Parallel()
	s := newSample(t, 11) // the large body is the 6th append
	for _, tail := range [][]byte{nil, s.bytes[s.ends[5] : s.ends[5]+40]} {
		s.put(t, append(s.bytes[:s.ends[5]:s.ends[5]], tail...))
		write(t, filepath.Join(s.dir.Path, "leader", "bodies", ".new"), []byte("half a bo"))
		j, fold := open(t, s.dir, quick)
		same(t, "prefix", fold.Records, s.recs[:s.after[5]])
		large := s.recs[s.after[5]]
		if large.Kind != "large" {
			t.Fatalf("the sample has %s there", large.Kind)
		}
		got := journaltest.Append(t, j, someone, journal.Draft{Kind: "large", Must: true, Body: large.Body})
		if !bytes.Equal(got[0].Body, large.Body) {
			t.Error("another body")
		}
		same(t, "on disk", verified(t, s.dir), fold.Records)
	}
}

// TestGrowing feeds a journal to a reader in pieces of any size. The reader folds each append when
// its last byte arrives, and never reports a break.
func TestGrowing(t *testing.T) {
	t.Parallel()
	s := newSample(t, 30)
	forget(t, s.dir)
	rapid.Check(t, func(t *rapid.T) {
		must(t, os.WriteFile(segment(s.dir, 1), nil, 0o600))
		f, err := os.OpenFile(segment(s.dir, 1), os.O_WRONLY|os.O_APPEND, 0)
		must(t, err)
		defer f.Close()
		j, fold := open(t, s.dir, quick)
		for off := 0; off < len(s.bytes); {
			n := min(rapid.IntRange(0, 700).Draw(t, "piece"), len(s.bytes)-off)
			_, err := f.Write(s.bytes[off : off+n])
			must(t, err)
			off += n
			refresh(t, j)
			want, _ := s.whole(off)
			same(t, "prefix", fold.Records, s.recs[:want])
		}
		same(t, "whole", fold.Records, s.recs)
	})
}
