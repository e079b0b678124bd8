package view_test

import (
	"errors"
	"testing"

	"waggle/internal/view"
	"waggle/operator/decide"
)

func TestDecided(t *testing.T) {
	ds := []decide.Decided{
		{ID: "perm-1", Decision: "allow", By: "operator", At: at(0), Changed: true, Delivered: true, Digest: "ab"},
		{ID: "perm-2", Decision: "deny", By: "operator", At: at(1), Changed: true},
		{ID: "perm-3", Decision: "deny", By: "rules", At: at(2)},
		{ID: "perm-4", Changed: true, Voted: true},
	}
	golden(t, "decided", view.Results(append(ds, decide.Refused("perm-5", errors.New("there is no request perm-5")))))
	golden(t, "decided_empty", view.Results(nil))
	learned := view.Results(ds[:1])
	learned.Policy = view.PolicyChange(&decide.PolicyChange{Team: "api", Version: 3})
	golden(t, "decided_learned", learned)
	var ls []view.Line
	for _, d := range ds {
		ls = append(ls, view.DecidedLine(d))
	}
	lines(t, "decided", ls)
}

func TestSessionRules(t *testing.T) {
	r := &decide.SessionRules{On: true, Changed: true, Rules: []decide.SessionRule{{Rule: "Bash(ls:*)", Effect: "allow", Expires: at(0), Over: true}, {Rule: "Read", Effect: "deny", Expires: at(9)}, {Rule: "Edit", Effect: "allow"}}}
	golden(t, "session_rules", view.SessionRules(r))
	golden(t, "session_rules_empty", view.SessionRules(&decide.SessionRules{}))
	page(t, "session_rules", view.SessionRulesPage(r))
	page(t, "session_rules_empty", view.SessionRulesPage(&decide.SessionRules{}))
}

func TestSessions(t *testing.T) {
	rows := []decide.SessionRow{
		{Team: "-", Session: "s-1", Client: "claude", Name: "api", PID: 7, State: "waiting-human", Since: at(0), Why: "asks: make", Handles: []string{"7KQF", "8ABC"}, Pane: "%1", Cwd: "/w", Version: "2.1", Hook: true, Reached: true, Trust: decide.LevelAnswers},
		{Team: "-", Session: "s-1", Name: "bob", Under: "api", State: "waiting-human"},
		{Team: "-", Session: "s-2", Name: "web", State: "idle", Why: "rests"},
	}
	st := view.Status(status())
	golden(t, "sessions", view.TeamsAndSessions{Teams: []view.StatusDocument{}, Sessions: view.Sessions(rows)})
	golden(t, "sessions_team", view.TeamAndSessions{StatusDocument: st, Sessions: view.Sessions(nil)})
	page(t, "sessions", view.SessionsPage(rows, now))
	page(t, "sessions_empty", view.SessionsPage(nil, now))
}
