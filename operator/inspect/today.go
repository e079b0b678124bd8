package inspect

import (
	"time"

	"waggle/journal"
	"waggle/record"
)

// Today is what the agents of all teams of this state directory have used since midnight, where now is
// local time, as far as leaders have recorded it. A journal that was not written since is not read, and
// one that cannot be read is left out.
func (o Operator) Today(now time.Time) (sum record.Usage) {
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	all, err := o.Home.Leaders()
	if err != nil {
		return sum
	}
	for _, d := range all {
		sum = sum.Plus(usedSince(d, midnight))
	}
	sum.ID = ""
	return sum
}

// usedSince is what the members of one team have used since a time: each record has what its member has
// used in all, so the last one before that time counts off.
func usedSince(d journal.Dir, since time.Time) (sum record.Usage) {
	last, before := map[record.Instance]record.Usage{}, map[record.Instance]record.Usage{}
	_ = d.Newest(journal.Leader, record.KindSpent, since, func(rs []journal.Record) (more bool) {
		newest, older := map[record.Instance]record.Usage{}, map[record.Instance]record.Usage{}
		for _, r := range rs {
			switch b, err := record.Body[record.Spent](r); {
			case err != nil || !b.Usage.Valid():
			case r.Time.Before(since):
				older[b.Instance] = b.Usage
			default:
				newest[b.Instance] = b.Usage
			}
		}
		add(last, newest)
		add(before, older)
		for i := range last {
			if _, ok := before[i]; !ok {
				more = true
			}
		}
		return more
	})
	for i, u := range last {
		sum = sum.Plus(u.Minus(before[i]))
	}
	return sum
}

// add adds what an older segment has of instances that no newer one has.
func add(to, from map[record.Instance]record.Usage) {
	for i, u := range from {
		if _, ok := to[i]; !ok {
			to[i] = u
		}
	}
}
