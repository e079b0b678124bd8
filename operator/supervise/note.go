package supervise

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"waggle/control"
	"waggle/operator"
	"waggle/operator/process"
	"waggle/protocol"
)

// noteNew notes the events that were recorded since the last pass, and those of the job.
func (r *raised) noteNew() {
	r.Reporter.Report()
	lead := r.S.Lead
	if r.job == nil {
		return
	}
	defer r.noteBusy()
	for _, t := range r.job.tasks {
		if t.assigned != 0 {
			r.Once(fmt.Sprint("assigned ", t.assigned), operator.Note{What: "assigned", Member: string(t.Owner), Text: fmt.Sprintf("task %s %q", t.id, t.Subject)})
		}
		if t.over() {
			r.Once(fmt.Sprint("over ", t.id, t.assigned), operator.Note{What: string(t.state), Member: string(t.Owner), Text: fmt.Sprintf("task %s %q%s", t.id, t.Subject, operator.Suffix(t.why(lead)))})
		}
	}
}

// silence is how long nothing was reported.
type silence struct {
	since time.Time     // the last event of another kind
	next  time.Duration // how long after it the next word about who works is due
}

// quiet is how long a run says nothing before it says who works; then twice as long, and so on.
const quiet = 15 * time.Second

// noteBusy notes who works, when nothing else was reported for a while.
func (r *raised) noteBusy() {
	s := &r.silence
	if r.Said.After(s.since) {
		*s = silence{since: r.Said, next: quiet}
	}
	now := r.o.Minter.Now()
	if now.Sub(s.since) < s.next {
		return
	}
	var busy []string
	over := 0
	for _, t := range r.job.tasks {
		if t.over() {
			over++
		} else if begun(r.l, t) && !slices.Contains(busy, string(t.Owner)) {
			busy = append(busy, string(t.Owner))
		}
	}
	if len(busy) == 0 {
		return
	}
	s.next *= 2
	r.Note(operator.Note{What: "working", Member: names(busy), Next: operator.Next{Step: operator.NextPeek, Member: protocol.MemberName(busy[0])},
		Text: fmt.Sprintf("no news for %s, %d of %d tasks ended", now.Sub(s.since).Round(time.Second), over, len(r.job.tasks))})
	r.Said = s.since // its own word is no news
}

// names lists at most three names.
func names(all []string) string {
	if len(all) > 3 {
		return strings.Join(all[:2], ", ") + fmt.Sprintf(" and %d more", len(all)-2)
	}
	return strings.Join(all, ", ")
}

// noteEnd notes that members are asked to end, when that may take a while.
func (r *raised) noteEnd(e process.TeamEnd) {
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
	if r.end.gone == nil && !slices.Contains(r.end.died, name) { // else the member's answer could not be read
		r.end.died = append(r.end.died, name)
	}
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
