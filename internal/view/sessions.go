package view

import (
	"strings"
	"time"

	"waggle/internal/view/page"
	"waggle/operator/decide"
	"waggle/operator/inspect"
)

// SessionDocument is a session, or a teammate in one.
type SessionDocument struct {
	Team    string   `json:"team"`
	Session string   `json:"session"`
	Client  string   `json:"client"`
	Name    string   `json:"name"`
	Under   string   `json:"under,omitempty"` // the session that a teammate runs in
	PID     int      `json:"pid"`
	State   string   `json:"state"`
	Since   string   `json:"since"` // "" when it is not known
	Why     string   `json:"why"`
	Handles []string `json:"handles"` // of what it asks
	Pane    string   `json:"pane"`    // tmux
	Cwd     string   `json:"cwd"`
	Version string   `json:"version"`
	Hook    bool     `json:"hook"` // a hook of waggle has reported for it
	Reached bool     `json:"takes_words"`
	Trust   string   `json:"trust"`
}

// TeamAndSessions is the document of one team beside the sessions.
type TeamAndSessions struct {
	StatusDocument
	Sessions []SessionDocument `json:"sessions"`
}

// TeamsAndSessions is the document of several teams, or none, beside the sessions.
type TeamsAndSessions struct {
	Sessions []SessionDocument `json:"sessions"`
	Teams    []StatusDocument  `json:"teams"`
	Today    *SpentDocument    `json:"today,omitempty"` // of all teams of this machine; null: nothing was used
}

// Sessions are the documents of sessions, never null.
func Sessions(rows []decide.SessionRow) []SessionDocument {
	out := make([]SessionDocument, 0, len(rows))
	for _, r := range rows {
		out = append(out, SessionDocument{r.Team, r.Session, r.Client, r.Name, r.Under, r.PID, r.State, page.Stamp(r.Since), r.Why, append([]string{}, r.Handles...), r.Pane, r.Cwd,
			r.Version, r.Hook, r.Reached, r.Trust})
	}
	return out
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
