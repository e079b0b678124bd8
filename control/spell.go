package control

import (
	"fmt"
	"slices"
	"time"

	"waggle/journal"
	"waggle/machine"
	"waggle/record"
)

// Spell is a part of the turn that is open: a session of one process worked on it, from the start of the
// process, or from its first record after a pause, to the end of the part. To is zero while it goes on.
type Spell struct{ From, To time.Time }

// workedOn are the kinds of records that only a session writes that works on its turn.
var workedOn = []string{record.KindAsked, record.KindStarted, record.KindFinished, record.KindHeard, record.KindConversation,
	record.KindUsed, record.KindSteps, record.KindChecked}

// works begins a spell, unless one goes on.
func (w *Worker) works(at time.Time) {
	if n := len(w.spells); w.turn != nil && (n == 0 || !w.spells[n-1].To.IsZero()) {
		w.spells = append(w.spells, Spell{From: at})
	}
}

// rests ends the spell that goes on: the process is gone, a usage limit has cut the turn short, or a person has
// the session.
func (w *Worker) rests(at time.Time) {
	if n := len(w.spells); n > 0 && w.spells[n-1].To.IsZero() {
		w.spells = slices.Clone(w.spells)
		w.spells[n-1].To = at
	}
}

// Spent is how long sessions have worked on the turn that is open before the present spell. Of one whose
// process was killed it counts up to its death, when a process led the team then, and else up to its last
// record. awake is Leader.Awake.
func (w *Worker) Spent(awake func(from, to time.Time) time.Duration) (spent time.Duration) {
	for _, s := range w.spells {
		if !s.To.IsZero() {
			spent += awake(s.From, s.To)
		}
	}
	return spent
}

// sleepsKept is how many of the newest times in which the machine was suspended are kept.
const sleepsKept = 32

// Awake is the time between two moments in which the machine was not suspended, as far as a process that
// led has recorded it.
func (l *Leader) Awake(from, to time.Time) time.Duration {
	d := max(0, to.Sub(from))
	for _, s := range l.sleeps {
		begin, end := s.From, s.To
		if begin.Before(from) {
			begin = from
		}
		if end.After(to) {
			end = to
		}
		d -= max(0, end.Sub(begin))
	}
	return max(0, d)
}

// Lost is when the newest process of a member died, when that was seen as it happened: by a process that
// has led the team since before that process began.
func (l *Leader) Lost(m *Member) (at time.Time, ok bool) {
	return m.DiedAt, m.Died != nil && m.diedSeen
}

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
