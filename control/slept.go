package control

import (
	"fmt"
	"slices"
	"time"

	"waggle/journal"
	"waggle/machine"
	"waggle/record"
)

// leastSlept is the shortest sleep that is recorded, mostSlept the longest that one record says.
const (
	leastSlept = time.Second
	mostSlept  = 366 * 24 * time.Hour
)

// Sleep drafts that the machine of this process was suspended. It drafts nothing for a moment.
func (l *Leader) Sleep(d time.Duration) []journal.Draft {
	if d < leastSlept {
		return nil
	}
	return []journal.Draft{{Kind: record.KindSlept, Body: record.Slept{ForMS: min(d, mostSlept).Milliseconds()}}}
}

func (l *Leader) sleptRec(r journal.Record, b record.Slept) error {
	if b.For() < leastSlept || b.For() > mostSlept {
		return fmt.Errorf("it slept for %d ms", b.ForMS)
	}
	slept := b.For()
	if over := l.SleptAt.Sub(r.Time.Add(-slept)); l.Slept != nil && over > 0 { // another process has recorded it too
		slept = max(0, slept-over)
	}
	l.Slept, l.SleptAt = &b, r.Time
	if slept > 0 {
		l.sleeps = append(slices.Clone(l.sleeps[max(0, len(l.sleeps)-sleepsKept+1):]), Spell{r.Time.Add(-slept), r.Time})
	}
	for _, req := range l.pending {
		if req.State == machine.RequestPending && req.Expires != nil {
			t := req.Expires.Add(slept)
			req.Expires = &t
		}
	}
	for _, m := range l.Members {
		var deaths []time.Time
		for _, at := range m.Deaths {
			deaths = append(deaths, at.Add(slept))
		}
		m.Deaths = deaths
	}
	return nil
}

// deadline is when a request that was asked at a time expires, nil when none does. It may have been asked
// before the machine slept, and seen afterwards.
func (l *Leader) deadline(asked time.Time) *time.Time {
	if l.Policy.Deadline <= 0 || l.Policy.Unattended {
		return nil
	}
	t := asked.Add(time.Duration(l.Policy.Deadline) * time.Millisecond)
	if l.Slept != nil && !asked.After(l.SleptAt.Add(-l.Slept.For())) {
		t = t.Add(l.Slept.For())
	}
	return &t
}
