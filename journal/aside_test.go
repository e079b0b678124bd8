package journal_test

import (
	"slices"
	"strings"
	"testing"

	"waggle/journal"
	"waggle/journal/journaltest"
)

// picky is a fold that allows records of one kind to be left out.
type picky struct {
	seqs []journal.Seq
	may  string
}

func (p *picky) Apply(r journal.Record) error { p.seqs = append(p.seqs, r.Seq); return nil }
func (p *picky) Reset()                       { p.seqs = nil }
func (*picky) Hold()                          {}
func (*picky) Keep()                          {}
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
