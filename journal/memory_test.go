package journal_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/journal/journaltest"
)

// choosy is a fold that can be made again and refuses records of one kind. It counts what it is
// told of drafts.
type choosy struct {
	redo
	refuse     string
	held, kept int
}

var errChoosy = errors.New("this one is not taken")

func (c *choosy) Apply(r journal.Record) error {
	if r.Kind == c.refuse {
		return errChoosy
	}
	return c.redo.Apply(r)
}

func (c *choosy) Hold() { c.held++ }
func (c *choosy) Keep() { c.kept++ }

// TestMemoryTentative: a draft is folded once, before it is kept; one that the fold refuses leaves
// journal and fold as they were, and another handle never sees it.
func TestMemoryTentative(t *testing.T) {
	m := journal.NewMemory(uid, journal.Leader, fixed)
	fold := &choosy{refuse: "bad"}
	j, other := m.Open(fold), &journaltest.Recorder{}
	var want []journal.Record
	for round := range 3 {
		recs, err := j.Append(t.Context(), someone, func() ([]journal.Draft, error) {
			return []journal.Draft{journaltest.Note(round), journaltest.Note(10 + round)}, nil
		})
		testenv.Must(t, err)
		want = append(want, recs...)
		same(t, "the fold", fold.Records, want)
		if fold.held != 2*round+1 || fold.kept != round+1 {
			t.Errorf("held %d times, kept %d times", fold.held, fold.kept)
		}
		recs, err = j.Append(t.Context(), someone, func() ([]journal.Draft, error) {
			return []journal.Draft{journaltest.Note(99), {Kind: "bad"}}, nil
		})
		var draft *journal.DraftError
		if recs != nil || !errors.As(err, &draft) || draft.Kind != "bad" || !errors.Is(err, errChoosy) {
			t.Fatalf("%v, %v", recs, err)
		}
		same(t, "the fold after a refusal", fold.Records, want)
		if fold.resets != round+1 || fold.kept != round+1 {
			t.Errorf("reset %d times, kept %d times", fold.resets, fold.kept)
		}
		refresh(t, j)
		same(t, "the journal", m.Records(), want)
	}
	refresh(t, m.Open(other))
	same(t, "another handle", other.Records, want)
}

// TestMemoryStops: a handle whose fold has refused a record of the journal returns that error from
// then on, and folds no more; a context that has ended stops both calls before they do anything.
func TestMemoryStops(t *testing.T) {
	m := journal.NewMemory(uid, journal.Leader, nil)
	before := time.Now().Add(-time.Second)
	plain := m.Open(nil)
	journaltest.Append(t, plain, someone, journaltest.Note(1), journal.Draft{Kind: "bad"}, journaltest.Note(2))
	if at := m.Records()[0].Time; at.Before(before) || at.After(time.Now()) {
		t.Errorf("the time of a record is %v", at)
	}
	fold := &choosy{refuse: "bad"}
	j := m.Open(fold)
	for range 3 {
		if err := j.Refresh(t.Context()); !errors.Is(err, errChoosy) {
			t.Fatal(err)
		}
		if _, err := j.Append(t.Context(), someone, func() ([]journal.Draft, error) { t.Error("propose was called"); return nil, nil }); !errors.Is(err, errChoosy) {
			t.Fatal(err)
		}
	}
	if len(fold.Records) != 1 {
		t.Errorf("%d records are folded, want the one before", len(fold.Records))
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	late := &journaltest.Recorder{}
	k := m.Open(late)
	if err := k.Refresh(over); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := k.Append(over, someone, func() ([]journal.Draft, error) { t.Error("propose was called"); return nil, nil }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if len(late.Records) != 0 || len(m.Records()) != 3 {
		t.Errorf("%d folded, %d in the journal", len(late.Records), len(m.Records()))
	}
}

func TestMemory(t *testing.T) {
	t.Parallel()
	journaltest.Run(t, func(t *testing.T, name journal.Name, now func() time.Time) journaltest.Handle {
		m := journal.NewMemory(uid, name, now)
		return func(fold journal.Fold) journal.Journal { return m.Open(fold) }
	})
}

func TestFile(t *testing.T) { testFile(t, journal.Options{}) }

// TestFileRolling has a new segment for every other append.
func TestFileRolling(t *testing.T) { testFile(t, journal.Options{Segment: 400, Sync: noSync}) }

func testFile(t *testing.T, o journal.Options) {
	journaltest.Run(t, func(t *testing.T, name journal.Name, now func() time.Time) journaltest.Handle {
		dir, o := newDir(t), o
		o.Now = now
		return func(fold journal.Fold) journal.Journal {
			j, err := dir.Open(name, fold, o)
			testenv.Must(t, err)
			return j
		}
	})
}

// TestPreview: records appended to a preview are folded after those of the journal and not written.
// The journal's next call folds only the records on disk.
func TestPreview(t *testing.T) {
	t.Parallel()
	d := newDir(t)
	fold := &redo{}
	j := openFold(t, d, fold, quick)
	say := func(to journal.Journal, kind string) []journal.Record {
		t.Helper()
		recs, err := to.Append(t.Context(), someone, func() ([]journal.Draft, error) { return []journal.Draft{{Kind: kind}}, nil })
		testenv.Must(t, err)
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
	k := openFold(t, d, again, quick)
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

// TestPreviewStops: a preview does nothing when its context has ended, when its journal is broken,
// when nothing is proposed, and when the fold refuses the draft.
func TestPreviewStops(t *testing.T) {
	d := newDir(t)
	fold := &choosy{refuse: "bad"}
	j := openFold(t, d, fold, quick)
	first := journaltest.Append(t, j, someone, journaltest.Note(1))
	over, cancel := context.WithCancel(t.Context())
	cancel()
	none := func() ([]journal.Draft, error) { t.Error("propose was called"); return nil, nil }
	p := j.Preview()
	if err := p.Refresh(over); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	testenv.Must(t, p.Refresh(t.Context()))
	if _, err := p.Append(over, someone, none); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	asked := errors.New("asked")
	for _, propose := range []func() ([]journal.Draft, error){
		func() ([]journal.Draft, error) { return nil, nil },
		func() ([]journal.Draft, error) { return []journal.Draft{{Kind: "one"}}, asked },
		func() ([]journal.Draft, error) { return []journal.Draft{{Kind: "no kind"}}, nil },
	} {
		if recs, err := p.Append(t.Context(), someone, propose); recs != nil || errors.Is(err, errChoosy) {
			t.Errorf("%v, %v", recs, err)
		}
	}
	same(t, "the fold", fold.Records, first)
	if p.Records() != nil || fold.held != 1 {
		t.Errorf("%v in the preview; held %d times", p.Records(), fold.held)
	}
	two, err := p.Append(t.Context(), someone, func() ([]journal.Draft, error) { return []journal.Draft{{Kind: "two"}}, nil })
	testenv.Must(t, err)
	if _, err := p.Append(t.Context(), someone, func() ([]journal.Draft, error) { return []journal.Draft{{Kind: "bad"}}, nil }); !errors.Is(err, errChoosy) {
		t.Errorf("refused by the fold: %v", err)
	}
	same(t, "the preview", p.Records(), two)
	refresh(t, j)
	same(t, "the fold without it", fold.Records, first)

	write(t, segment(d, 1), flipped(read(t, segment(d, 1)), 20))
	broken := j.Refresh(t.Context())
	breakAt(t, broken, "00000001.jsonl", 1, 1)
	if _, err := j.Preview().Append(t.Context(), someone, none); !errors.Is(err, broken) {
		t.Errorf("a preview of a broken journal: %v", err)
	}
}
