package supervise

import (
	"fmt"

	"waggle/control"
	"waggle/operator"
	"waggle/operator/process"
)

// noteNew notes the events that were recorded since the last pass, and those of the job.
func (r *run) noteNew() {
	r.Reporter.Report()
	lead := r.S.Lead
	if r.job == nil {
		return
	}
	for _, t := range r.job.tasks {
		if t.assigned != 0 {
			r.Once(fmt.Sprint("assigned ", t.assigned), operator.Note{What: "assigned", Member: string(t.Owner), Text: fmt.Sprintf("task %s %q", t.id, t.Subject)})
		}
		if t.over() {
			r.Once(fmt.Sprint("over ", t.id, t.assigned), operator.Note{What: string(t.state), Member: string(t.Owner), Text: fmt.Sprintf("task %s %q%s", t.id, t.Subject, operator.Suffix(t.why(lead)))})
		}
	}
}

// noteEnd notes that members are asked to end, when that may take a while.
func (r *run) noteEnd(e process.TeamEnd) {
	n := 0
	for _, m := range r.S.Lead.Live() {
		if running(m) {
			n++
		}
	}
	switch {
	case n == 0:
	case e.Force:
		r.Note(operator.Note{What: "ending", Member: "", Text: fmt.Sprintf("%d members by signal", n)})
	default:
		r.Note(operator.Note{What: "ending", Member: "", Text: fmt.Sprintf("%d members are asked to end, for up to %s", n, e.Grace)})
	}
}

func (r *run) died(name string) {
	if r.end.gone != nil {
		return // the member's answer could not be read
	}
	for _, d := range r.end.died {
		if d == name {
			return
		}
	}
	r.end.died = append(r.end.died, name)
}

// why returns what the owner reported about a task that did not complete.
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
