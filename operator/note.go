package operator

import (
	"cmp"
	"fmt"
	"time"

	"waggle/control"
)

// teller tells a face what happens in a team, each thing once.
type teller struct {
	s    *State
	now  func() time.Time
	to   func(Note)        // nil: nobody is told
	told map[string]bool   // what was
	died func(name string) // is told of a member that has died; may be nil
}

func (o Operator) teller(s *State, to func(Note)) *teller {
	return &teller{s: s, now: o.Minter.Now, to: to, told: map[string]bool{}}
}

// note tells the face something.
func (t *teller) note(n Note) {
	if t.to != nil {
		t.to(n)
	}
}

// once tells it unless it was told.
func (t *teller) once(key string, n Note) {
	if !t.told[key] {
		t.told[key] = true
		t.note(n)
	}
}

// mute marks what is on record already as told.
func (t *teller) mute() {
	to := t.to
	t.to = nil
	t.tell()
	t.to = to
}

// tell reports what is new on record.
func (t *teller) tell() {
	lead := t.s.Lead
	for _, m := range lead.Members {
		name := string(m.Name)
		if m.Left != nil {
			t.once("left "+string(m.Instance), Note{"left", name, m.Left.How + suffix(m.Left.Detail)})
			if m.Left.How == control.LeftDied && t.died != nil {
				t.died(name)
			}
		}
		if d := m.Died; d != nil && m.Left == nil {
			t.once(fmt.Sprint("died ", m.Instance, d.Epoch, d.Attempt, d.Again != nil, d.GaveUp), Note{"died", name, deathText(m, t.now())})
		}
		if m.Rejected != "" {
			t.once("no "+string(m.Instance)+m.Rejected, Note{"shutdown rejected", name, m.Rejected})
		}
	}
	for _, q := range lead.Requests {
		t.request(q)
	}
	for _, u := range lead.Unverified {
		t.once(fmt.Sprint("unverified ", u.Seq), Note{"unverified", u.From, fmt.Sprintf("%s %s: %s", u.Kind, u.ID, u.Why)})
	}
}

// request tells what became of a request.
func (t *teller) request(q *control.Request) {
	m, _ := t.s.Lead.ByInstance(q.Instance)
	key := string(q.Instance) + string(q.Kind) + string(q.ID)
	t.once("asked "+key, Note{"asked", string(m.Name), fmt.Sprintf("%s %s", Describe(q.Kind, q.Ask), q.ID)})
	if e := q.Escalated; e != nil {
		t.once("escalated "+key, Note{"escalated", string(m.Name), fmt.Sprintf("%s waits for the operator, says the %s%s", q.ID, e.By, suffix(e.Reason))})
	}
	if d := q.Decided; d != nil {
		t.once("decided "+key, Note{"decided", string(m.Name), fmt.Sprintf("%s %s by %s%s", q.ID, d.Decision, d.By, suffix(d.Reason))})
	}
}

// tell reports what is new on record since the last pass, and of the job.
func (r *run) tell() {
	r.teller.tell()
	lead := r.s.Lead
	if r.job == nil {
		return
	}
	for _, t := range r.job.tasks {
		if t.assigned != 0 {
			r.once(fmt.Sprint("assigned ", t.assigned), Note{"assigned", string(t.Owner), fmt.Sprintf("task %s %q", t.id, t.Subject)})
		}
		if t.over() {
			r.once(fmt.Sprint("over ", t.id, t.assigned), Note{string(t.state), string(t.Owner), fmt.Sprintf("task %s %q%s", t.id, t.Subject, suffix(t.why(lead)))})
		}
	}
}

// noteEnd says that members are asked to end, when that may take a while.
func (r *run) noteEnd(e teamEnd) {
	n := 0
	for _, m := range r.s.Lead.Live() {
		if running(m) {
			n++
		}
	}
	switch {
	case n == 0:
	case e.force:
		r.note(Note{"ending", "", fmt.Sprintf("%d members by signal", n)})
	default:
		r.note(Note{"ending", "", fmt.Sprintf("%d members are asked to end, for up to %s", n, e.grace)})
	}
}

// deathText says how a member's process ended, and what becomes of it.
func deathText(m *control.Member, now time.Time) string {
	d := m.Died
	what := cmp.Or(d.Detail, "its process is gone")
	switch {
	case d.GaveUp:
		return fmt.Sprintf("%s; GIVEN UP after %d deaths in %s: it is not started again", what, len(m.Deaths), time.Duration(m.Restart.Window)*time.Millisecond)
	case d.Again != nil:
		return fmt.Sprintf("%s; it is started again in %s", what, max(0, d.Again.Sub(now)).Round(100*time.Millisecond))
	}
	return what
}

func (r *run) died(name string) {
	if r.end.gone != nil {
		return // how it ended could not be heard
	}
	for _, d := range r.end.died {
		if d == name {
			return
		}
	}
	r.end.died = append(r.end.died, name)
}

// why is what the owner said of a task that did not complete.
func (t *jobTask) why(lead *control.Leader) string {
	m, ok := lead.ByInstance(t.instance)
	if !ok {
		return ""
	}
	if idle := m.Turns[string(t.id)]; idle != nil {
		return idle.Note
	}
	return ""
}

func suffix(s string) string {
	if s == "" {
		return ""
	}
	return ": " + s
}
