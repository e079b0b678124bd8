package view

import (
	"fmt"

	"waggle/internal/view/page"
	"waggle/operator"
	"waggle/operator/supervise"
	"waggle/record"
)

// ResumeDocument is what a resume of a team would do.
type ResumeDocument struct {
	Team        string         `json:"team"`
	Led         bool           `json:"led"` // a process leads it
	PID         int            `json:"pid"` // of that process; 0: none is on record
	Members     []ResumeMember `json:"members"`
	Halted      bool           `json:"halted"`       // all work is stopped, and would go on
	Changed     bool           `json:"file_changed"` // the team file differs from the accepted one
	File        string         `json:"file"`
	Tasks       int            `json:"open_tasks"`
	Undelivered int            `json:"undelivered"` // messages that are in mailboxes and were not taken
	Pending     []string       `json:"pending"`     // ids of open questions: they stay open
	Unknown     []string       `json:"unknown"`     // calls that were started and have no recorded end: they are not run again
	Leftover    []string       `json:"leftover"`    // commands of dead processes that still run
}

// ResumeMember is one member of the plan.
type ResumeMember struct {
	Name    string `json:"name"`
	Action  string `json:"action"`
	Session string `json:"session"` // its instance
	PID     int    `json:"pid"`
	Why     string `json:"why"`
}

// Resume is the document of a plan to resume a team.
func Resume(p *supervise.ResumePlan) ResumeDocument {
	d := ResumeDocument{p.Team, p.Led, p.PID, make([]ResumeMember, 0, len(p.Members)), p.Halted, p.Changed, p.File, p.Tasks, p.Undelivered,
		append([]string{}, p.Pending...), append([]string{}, p.Unknown...), append([]string{}, p.Leftover...)}
	for _, m := range p.Members {
		d.Members = append(d.Members, ResumeMember(m))
	}
	return d
}

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
	if len(t.Rows) > 0 {
		p.Table(t)
	}
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

// SpawnedDocument is a member that was started.
type SpawnedDocument struct {
	Team    string        `json:"team"`
	Name    string        `json:"name"`
	Session string        `json:"session"`
	PID     int           `json:"pid"`
	Backend string        `json:"backend"`
	Task    string        `json:"task"`
	Ready   *record.Ready `json:"ready"` // as its journal has it
}

// Spawned is the document of a member that was started.
func Spawned(s *supervise.Spawned) SpawnedDocument {
	return SpawnedDocument{Team: s.Team, Name: s.Name, Session: s.Session, PID: s.PID, Backend: s.Backend, Task: s.Task, Ready: s.Ready}
}
