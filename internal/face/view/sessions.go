package view

import (
	"strings"
	"time"

	"waggle/internal/face/view/page"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/record"
)

// TeamAndSessions is the document of one team beside the sessions.
type TeamAndSessions struct {
	StatusDocument
	Sessions []decide.SessionRow `json:"sessions"`
}

// TeamsAndSessions is the document of several teams, or none, beside the sessions.
type TeamsAndSessions struct {
	Sessions []decide.SessionRow `json:"sessions"`
	Teams    []StatusDocument    `json:"teams"`
	Today    *record.Usage       `json:"today,omitempty"` // of all teams of this machine; null: nothing was used
}

// SessionsPage shows sessions, a teammate below the session that it runs in. It is empty
// where there are none.
func SessionsPage(rows []decide.SessionRow, now time.Time) (p page.Page) {
	if len(rows) == 0 {
		return nil
	}
	p.Line(page.Strong("sessions"), page.Plain("  "), page.Faint("started by you; waggle answers their questions and gates nothing"))
	t := page.Table{Head: []string{"ID", "SESSION", "STATE", "SINCE", "PANE", "CWD", "WHY"}, About: true}
	for _, r := range rows {
		name, why := r.Name, r.Why
		if r.Under != "" {
			name = "  " + name
		}
		if !r.Hook && r.Under == "" {
			why = strings.TrimSpace(why + " (no hook: its questions are not seen)")
		}
		t.Rows = append(t.Rows, []string{strings.Join(r.Handles, " "), name, Words(inspect.SessionStand(r.State), now), page.Since(r.Since, now), r.Pane, r.Cwd, why})
	}
	p.Table(t)
	return p
}
