package foreigntest_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/board"
	"waggle/operator/mail"
	"waggle/operator/teams"
	"waggle/task"
)

// assignment holds the fields of a task_assignment about its sender.
type assignment struct {
	Type       string
	AssignedBy string
	TaskID     string `json:"taskId"`
	from       string // of the envelope
}

// lastIn is the newest entry of a mailbox.
func (s *stage) lastIn(box string) (e entry) {
	s.t.Helper()
	raw, err := os.ReadFile(filepath.Join(s.them.team, "inboxes", box+".json"))
	testenv.Must(s.t, err)
	var es []entry
	testenv.Must(s.t, json.Unmarshal(raw, &es))
	if len(es) == 0 {
		s.t.Fatalf("the mailbox of %s is empty", box)
	}
	return es[len(es)-1]
}

func (s *stage) assigns(owner string, terms board.Terms) assignment {
	s.t.Helper()
	made, err := board.Of(s.op).AddTask(s.t.Context(), s.team, board.NewTask{Subject: "s", Description: "d"})
	testenv.Must(s.t, err)
	_, err = board.Of(s.op).AssignTask(s.t.Context(), s.team, task.ID(made.Task.ID), "bob", terms)
	testenv.Must(s.t, err)
	e := s.lastIn(owner)
	var a assignment
	testenv.Must(s.t, json.Unmarshal([]byte(e.Text), &a))
	a.from = e.From
	return a
}

// TestAssignedBy: assignedBy names who assigned. In a team that waggle leads that is the operator or the lead, and the
// message is the lead's, which can be answered; in another program's team it is our member there, as the message is.
func TestAssignedBy(t *testing.T) {
	t.Parallel()
	s := newStage(t, "worker")
	if a := s.assigns("bob", board.Terms{}); a.Type != "task_assignment" || a.AssignedBy != "operator" || a.from != "team-lead" {
		t.Errorf("in a team of ours: %+v", a)
	}
	s = newStage(t, "lead")
	s.joins("bob")
	if a := s.assigns("bob", board.Terms{}); a.Type != "task_assignment" || a.AssignedBy != "gopher" || a.from != "gopher" {
		t.Errorf("in a session's team: %+v", a)
	}
}

// joins adds a member of the other program's own to its registry.
func (s *stage) joins(name string) {
	s.t.Helper()
	path := filepath.Join(s.them.team, "config.json")
	raw, err := os.ReadFile(path)
	testenv.Must(s.t, err)
	var c map[string]any
	testenv.Must(s.t, json.Unmarshal(raw, &c))
	c["members"] = append(c["members"].([]any), map[string]any{"agentId": name + "@" + string(s.team), "name": name, "agentType": "general-purpose",
		"joinedAt": 2, "tmuxPaneId": "%1", "cwd": "/", "subscriptions": []any{}})
	raw, err = json.MarshalIndent(c, "", "  ")
	testenv.Must(s.t, err)
	testenv.Must(s.t, os.WriteFile(path, raw, 0o644))
}

// TestWordsAreFromWhoCanBeAnswered: a message goes out as our registered member in another program's
// team, or as one that is registered for that if there is none, and as the lead in a team of ours;
// never in a name that is not in the registry, nor in another member's.
func TestWordsAreFromWhoCanBeAnswered(t *testing.T) {
	t.Parallel()
	s := newStage(t, "worker")
	s.sends("bob", "hello")
	if e := s.lastIn("bob"); e.From != "team-lead" {
		t.Errorf("in a team of ours from %q", e.From)
	}
	s = newStage(t, "lead")
	s.sends("team-lead", "hello")
	if e := s.lastIn("team-lead"); e.From != "gopher" {
		t.Errorf("in a session's team from %q", e.From)
	}
	s.joins("bob")
	for as, code := range map[string]operator.Kind{"operator": operator.Usage, "bob": operator.Refused, "team-lead": operator.Refused} {
		_, err := mail.Of(s.op).Send(t.Context(), s.team, mail.Message{To: toMember("team-lead"), Text: "hello", As: as})
		if operator.KindOf(err) != code {
			t.Errorf("as %s: %v", as, err)
		}
	}
	testenv.Must(t, teams.Of(s.op).Remove(t.Context(), s.team, "gopher"))
	s.sends("team-lead", "hello again")
	e := s.lastIn("team-lead")
	if !s.listed(e.From) || e.From == "bob" {
		t.Errorf("without a member of ours it is from %q", e.From)
	}
}

// listed reports a name of the registry.
func (s *stage) listed(name string) bool {
	s.t.Helper()
	raw, err := os.ReadFile(filepath.Join(s.them.team, "config.json"))
	testenv.Must(s.t, err)
	var c struct{ Members []struct{ Name string } }
	testenv.Must(s.t, json.Unmarshal(raw, &c))
	for _, m := range c.Members {
		if m.Name == name {
			return true
		}
	}
	return false
}
