package journal_test

import (
	"context"
	"errors"
	"testing"
	"time"

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
		must(t, err)
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
			if err != nil {
				t.Fatal(err)
			}
			return j
		}
	})
}
