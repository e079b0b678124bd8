package view

import (
	"fmt"

	"waggle/internal/face/view/page"
	"waggle/operator"
	"waggle/operator/supervise"
)

// ResumePage is a plan to resume a team.
func ResumePage(r *supervise.ResumePlan) (p page.Page) {
	p.Line(page.Strong(r.Team), page.Plain(fmt.Sprintf("  %d to start", r.Starts())))
	if r.Halted {
		p.Line(page.Warning("all work is stopped, and would go on"))
	}
	t := page.Table{Head: []string{"MEMBER", "ACTION", "SESSION", "WHY"}}
	for _, m := range r.Members {
		t.Rows = append(t.Rows, []string{m.Name, m.Action, short(m.Session), m.Why})
	}
	p.Rows(t)
	p.Line(page.Plain(fmt.Sprintf("%d open tasks, %d messages not taken, %d decisions pending", r.Tasks, r.Undelivered, len(r.Pending))))
	for _, u := range r.Unknown {
		p.Line(page.Warning("end unknown, not run again:"), page.Plain(" "+u))
	}
	for _, l := range r.Leftover {
		p.Line(page.Warning("a command of a dead process still runs:"), page.Plain(" "+l+"  "), page.WholeStep(operator.NextEndLeftover.With()))
	}
	if r.Changed {
		p.Line(page.Warning("note:"), page.Plain(" "+r.File+" has changed since it was accepted"))
	}
	return p
}

// short is enough of a session id to distinguish it from the others.
func short(id string) string { return id[:min(8, len(id))] }
