package journal_test

import (
	"testing"

	"waggle/journal"
)

// TestPreview: records appended to a preview are folded after those of the journal and not written.
// The journal's next call folds only the records on disk.
func TestPreview(t *testing.T) {
	t.Parallel()
	d := newDir(t)
	fold := &redo{}
	j, err := d.Open(journal.Leader, fold, quick)
	must(t, err)
	say := func(to journal.Journal, kind string) []journal.Record {
		t.Helper()
		recs, err := to.Append(t.Context(), someone, func() ([]journal.Draft, error) { return []journal.Draft{{Kind: kind}}, nil })
		must(t, err)
		return recs
	}
	first := say(j, "one")
	was := read(t, segment(d, 1))
	p := j.Preview()
	two, three := say(p, "two"), say(p, "three")
	same(t, "the fold with the preview", fold.Records, append(append(first[:1:1], two...), three...))
	if three[0].Seq != 3 || three[0].Prev == two[0].Prev {
		t.Errorf("the preview's records do not follow each other: %+v", three[0])
	}
	if now := read(t, segment(d, 1)); string(now) != string(was) {
		t.Errorf("the preview wrote:\n%s", now)
	}
	refresh(t, j)
	same(t, "the fold without it", fold.Records, first)

	say(j.Preview(), "forgotten")
	second := say(j, "second")
	same(t, "an append after a preview", fold.Records, append(first[:1:1], second...))
	same(t, "the journal", verified(t, d), fold.Records)
}

// TestPreviewRefuses: Preview refuses appends for a fold that cannot be reset and for a writer with
// an older epoch.
func TestPreviewRefuses(t *testing.T) {
	t.Parallel()
	d := newDir(t)
	draft := func() ([]journal.Draft, error) { return []journal.Draft{{Kind: "one"}}, nil }
	j, fold := open(t, d, quick)
	if recs, err := j.Preview().Append(t.Context(), someone, draft); err == nil || len(fold.Records) > 0 {
		t.Errorf("a Recorder took %v, %v", recs, err)
	}
	again := &redo{}
	k, err := d.Open(journal.Leader, again, quick)
	must(t, err)
	p := k.Preview()
	later := someone
	later.Epoch++
	if _, err := p.Append(t.Context(), later, draft); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Append(t.Context(), someone, draft); err == nil {
		t.Error("an earlier start appended")
	}
}
