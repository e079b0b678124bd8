package notice

import (
	"slices"
	"time"
)

// Settle is how long something waits before a notice: what is answered meanwhile makes none.
const Settle = time.Second

// Window is the least time from one notice of a team to the next.
const Window = 10 * time.Second

// Book is what was told of one team. The zero value has told nothing.
type Book struct {
	told   map[string]bool // what waits and was told
	stands bool            // a notice was not withdrawn
	fresh  time.Time       // since when something waits that was not told; zero: everything was told
	last   time.Time       // the last notice
}

// Step is what is due.
type Step struct {
	Tell     bool      // a notice, of all that waits
	Withdraw bool      // the last notice: nothing waits any more
	Again    time.Time // look again then; zero: after the next change
}

// Told adds what another process has told of, and when.
func (b *Book) Told(ids []string, at time.Time) {
	if b.told == nil {
		b.told = map[string]bool{}
	}
	for _, id := range ids {
		b.told[id] = true
	}
	if at.After(b.last) {
		b.last = at
	}
}

// missed takes back the notice that Look has asked for: no channel has shown it, and of what waits only these were told
// before. It returns when Look asks again.
func (b *Book) missed(told []string) (again time.Time) {
	for id := range b.told {
		if !slices.Contains(told, id) {
			delete(b.told, id)
		}
	}
	return b.last.Add(Window)
}

// idle reports that nothing is due when nothing waits.
func (b *Book) idle() bool { return !b.stands && b.fresh.IsZero() }

// Look returns what is due when these requests wait, each id once.
func (b *Book) Look(now time.Time, waits []string) (s Step) {
	for id := range b.told {
		if !slices.Contains(waits, id) {
			delete(b.told, id)
		}
	}
	b.stands = b.stands || len(b.told) > 0
	for _, t := range []*time.Time{&b.last, &b.fresh} {
		if t.After(now) {
			*t = now // the clock was set back
		}
	}
	switch {
	case len(waits) == len(b.told):
		b.fresh = time.Time{}
		s.Withdraw = b.stands && len(waits) == 0
		b.stands = b.stands && !s.Withdraw
		return s
	case b.fresh.IsZero():
		b.fresh = now
	}
	due := b.fresh.Add(Settle)
	if !b.last.IsZero() && due.Before(b.last.Add(Window)) {
		due = b.last.Add(Window)
	}
	if now.Before(due) {
		s.Again = due
		return s
	}
	b.Told(waits, now)
	b.fresh, b.stands, s.Tell = time.Time{}, true, true
	return s
}
