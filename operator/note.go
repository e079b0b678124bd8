package operator

import (
	"cmp"
	"fmt"
	"time"

	"waggle/control"
)

// note tells the face something once.
func (r *run) note(n Note) {
	if r.ro.Note != nil {
		r.ro.Note(n)
	}
}

func (r *run) once(key string, n Note) {
	if !r.told[key] {
		r.told[key] = true
		r.note(n)
	}
}

// mute marks what is on record already as told.
func (r *run) mute() {
	note := r.ro.Note
	r.ro.Note = nil
	r.tell()
	r.ro.Note = note
}

// tell reports what is new on record since the last pass.
func (r *run) tell() {
	lead := r.s.Lead
	for _, m := range lead.Members {
		name := string(m.Name)
		if m.Left != nil {
			r.once("left "+string(m.Instance), Note{"left", name, m.Left.How + suffix(m.Left.Detail)})
			if m.Left.How == control.LeftDied {
				r.died(name)
			}
		}
		if d := m.Died; d != nil && m.Left == nil {
			r.once(fmt.Sprint("died ", m.Instance, d.Epoch, d.Attempt, d.Again != nil, d.GaveUp), Note{"died", name, deathText(m, r.o.Minter.Now())})
		}
		if m.Rejected != "" {
			r.once("no "+string(m.Instance)+m.Rejected, Note{"shutdown rejected", name, m.Rejected})
		}
	}
	for _, q := range lead.Requests {
		m, _ := lead.ByInstance(q.Instance)
		key := string(q.Instance) + string(q.Kind) + string(q.ID)
		r.once("asked "+key, Note{"asked", string(m.Name), fmt.Sprintf("%s %s", Describe(q.Kind, q.Ask), q.ID)})
		if e := q.Escalated; e != nil {
			r.once("escalated "+key, Note{"escalated", string(m.Name), fmt.Sprintf("%s waits for the operator, says the %s%s", q.ID, e.By, suffix(e.Reason))})
		}
		if d := q.Decided; d != nil {
			r.once("decided "+key, Note{"decided", string(m.Name), fmt.Sprintf("%s %s by %s%s", q.ID, d.Decision, d.By, suffix(d.Reason))})
		}
	}
	for _, u := range lead.Unverified {
		r.once(fmt.Sprint("unverified ", u.Seq), Note{"unverified", u.From, fmt.Sprintf("%s %s: %s", u.Kind, u.ID, u.Why)})
	}
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
