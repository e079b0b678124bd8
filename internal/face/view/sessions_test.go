package view_test

import (
	"testing"

	"waggle/internal/face/view"
	"waggle/operator/decide"
)

func TestSessions(t *testing.T) {
	rows := []decide.SessionRow{
		{Team: "-", Session: "s-1", Client: "claude", Name: "api", PID: 7, State: "waiting-human", Since: at(0), Why: "asks: make", Handles: []string{"7KQF", "8ABC"}, Pane: "%1", Cwd: "/w", Version: "2.1", Hook: true, Reached: true, Trust: decide.LevelAnswers},
		{Team: "-", Session: "s-1", Name: "bob", Under: "api", State: "waiting-human"},
		{Team: "-", Session: "s-2", Name: "web", State: "idle", Why: "rests"},
	}
	st := view.Status(status())
	golden(t, "sessions", view.TeamsAndSessions{Teams: []view.StatusDocument{}, Sessions: rows})
	golden(t, "sessions_team", view.TeamAndSessions{StatusDocument: st})
	samePage(t, "sessions", view.SessionsPage(rows, now))
	samePage(t, "sessions_empty", view.SessionsPage(nil, now))
}
