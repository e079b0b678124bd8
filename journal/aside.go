package journal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// maxAgain bounds how often a journal is read from its first line to find records that contradict
// the fold. Leaving one record out may make a later one contradict the fold too.
const maxAgain = 8

// asides are the records that are not folded: they link to the one before and
// contradict the fold (trust §4). All of one reading are found in one go, and then the
// journal is folded once more without them.
type asides struct {
	skip  map[Seq]Repaired // records that are left out
	named map[Seq]bool     // those of them that a repaired record names
	again bool             // the fold holds a record that must be left out: fold again
}

func (a *asides) add(b Repaired, named bool) {
	if a.skip == nil {
		a.skip, a.named = map[Seq]Repaired{}, map[Seq]bool{}
	}
	if _, known := a.skip[b.Aside]; !known {
		a.skip[b.Aside], a.again = b, true
	}
	a.named[b.Aside] = a.named[b.Aside] || named
}

// fold1 folds one record, or leaves it out.
func (j *File) fold1(r Record) error {
	t := j.tentative()
	if t == nil {
		return apply(j.fold, r)
	}
	if _, skipped := j.aside.skip[r.Seq]; skipped {
		if !t.MaySetAside(r.Kind) {
			return fmt.Errorf("a repaired record sets %s aside, which none may", r.Kind)
		}
		return nil
	}
	j.named(r)
	err := t.Apply(r)
	if err == nil || errors.As(err, new(*FutureError)) || !t.MaySetAside(r.Kind) {
		return err
	}
	j.aside.add(Repaired{Aside: r.Seq, Kind: r.Kind, Why: err.Error()}, false)
	return nil
}

// named keeps the number of the record that a repaired record sets aside.
func (j *File) named(r Record) {
	var b Repaired
	if r.Kind == KindRepaired && json.Unmarshal(r.Body, &b) == nil && b.Aside > 0 && b.Aside < r.Seq {
		j.aside.add(b, true)
	}
}

// unnamed drafts the repaired records that name what this reading has set aside.
func (j *File) unnamed() (ds []Draft) {
	for _, b := range j.Aside() {
		if !j.aside.named[b.Aside] {
			ds = append(ds, Draft{Kind: KindRepaired, Body: b})
		}
	}
	return ds
}

// Aside lists the records that are left out because they contradict the others, in
// the order of the journal.
func (j *File) Aside() []Repaired {
	return slices.SortedFunc(maps.Values(j.aside.skip), func(a, b Repaired) int { return cmp.Compare(a.Aside, b.Aside) })
}

// contradicted ends the use of a journal whose fold refuses a record of a kind that may not be left
// out.
func (j *File) contradicted(seg, line int, r Record, err error) error {
	switch {
	case j.tentative() == nil:
		j.sticky = err
		return err
	case errors.As(err, new(*FutureError)):
		j.sticky = fmt.Errorf("journal %s, seq %d: %w", r.Journal, r.Seq, err)
		return j.sticky
	}
	return j.broken(&breach{file: segmentName(seg), line: line, seq: r.Seq, why: fmt.Sprintf("%s contradicts what is on record: %v", r.Kind, err), err: err})
}

// tentative is the fold as one that drafts are folded into first; nil when it is none.
func (j *File) tentative() Tentative {
	t, _ := j.fold.(Tentative)
	return t
}

// rebuild makes the fold again from the disk. After a read error the next call reads again and
// returns that error.
func (j *File) rebuild() {
	if j.sticky != nil {
		return
	}
	j.fresh()
	j.restore()
	_ = j.Refresh(context.Background()) // the next call reads on and returns the error
}

// fresh restarts the reading at the first line. The list of records to leave out is kept.
func (j *File) fresh() {
	j.tentative().Reset()
	if j.at.seq > j.least.seq {
		j.least = j.at
	}
	j.at = position{chain: j.at.first(), seg: 1}
	j.id, j.size, j.mod, j.folded, j.aside.again = fileID{}, 0, time.Time{}, 0, false
}

// reached checks that a journal that was read has all records that it had before, as far as
// certain.json and, when it was read again, this File know.
func (j *File) reached() error {
	was := j.least
	switch end := max(was.seq, j.certain.seq); {
	case end == 0:
		return nil
	case j.at.seq < end:
		return j.broken(j.breach(j.at, nil, fmt.Sprintf("it ended at seq %d before: the end is missing", end)))
	case j.at.seq == was.seq && j.at.head != was.head, j.at.seq == j.certain.seq && j.at.sum != j.certain.sum:
		return j.broken(j.breach(j.at, nil, replaced))
	}
	j.least = position{}
	return nil
}
