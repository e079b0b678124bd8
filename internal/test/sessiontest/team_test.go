//go:build unix

package sessiontest

import (
	"slices"
	"strings"
	"testing"

	"waggle/internal/claude/session"
	"waggle/internal/test/claudetest"
	"waggle/internal/test/testenv"
	"waggle/operator/decide"
)

const teams = "CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS=1"

// rows are the sessions that status lists; none while there is nothing to list.
func (w *world) rows() []decide.SessionRow {
	w.T.Helper()
	var doc struct {
		Sessions []decide.SessionRow `json:"sessions"`
	}
	s := w.Run("status", "--json")
	if s.Code == 9 {
		return nil
	}
	if err := testenv.Decode([]byte(s.Out), &doc); s.Code != 0 || err != nil {
		w.T.Fatalf("status --json: exit %d, %v: %s%s", s.Code, err, s.Out, s.Err)
	}
	return doc.Sessions
}

// crew are a lead's script and those of its mates, each with one call.
func crew(mates ...string) claudetest.Next {
	var spawns []claudetest.Turn
	scripts := map[string]claudetest.Next{}
	for _, name := range mates {
		spawns = append(spawns, claudetest.Spawn(name, "you are marker-"+name))
		scripts["marker-"+name] = claudetest.Script(claudetest.Mark(name), claudetest.Say(name+" is done"))
	}
	scripts["marker-lead"] = claudetest.Script(claudetest.Together(spawns...), claudetest.Say("they are at work"))
	return claudetest.ByMarker(scripts)
}

// Three teammates within a lead's process ask at once: three rows below their lead, each
// answered by its own handle, in another order.
func TestMates(t *testing.T) {
	troubled(t, func(t *testing.T, version string) {
		if version == claudetest.Explicit {
			t.Skip("this version makes a team only when it is told to")
		}
		mates := []string{"ann", "bob", "cid"}
		w := newWorld(t, version, crew(mates...))
		w.OK("away", "on") // else their dialogs come at once
		s := w.H.StartIn(w.H.Work, []string{teams}, "--permission-mode", "default", "--teammate-mode", "in-process", "you are marker-lead")
		handles := map[string]string{}
		for _, name := range mates {
			r := w.asked(">>" + name)
			if r.AgentName != name || r.Agent == "" {
				t.Errorf("%s asks as agent %q, %q", name, r.Agent, r.AgentName)
			}
			handles[name] = r.Handle
		}
		rows := w.rows()
		var below []string
		for _, r := range rows {
			if r.Under == "" {
				continue
			}
			below = append(below, r.Name)
			if r.Under != rows[0].Name || r.PID != s.PID || r.State != session.RowWaitingHuman || !slices.Equal(r.Handles, []string{handles[r.Name]}) {
				t.Errorf("the row of %s is %+v, want handle %s below %s", r.Name, r, handles[r.Name], rows[0].Name)
			}
		}
		if slices.Sort(below); !slices.Equal(below, mates) || rows[0].PID != s.PID {
			t.Fatalf("below their lead are %q: %+v", below, rows)
		}
		for i, name := range []string{"cid", "ann", "bob"} {
			args := []string{"approve", handles[name]}
			if name == "bob" {
				args = []string{"deny", handles[name], "-m", "not you"}
			}
			w.OK(args...)
			b := w.M.Await("the result of "+name, func(r claudetest.Request) bool {
				return strings.Contains(r.First(), "marker-"+name) && r.Turns() == 1 && len(r.Results()) == 1
			}).Results()[0]
			if denied := name == "bob"; b.IsError != denied || denied && !strings.Contains(b.Text, "not you") {
				t.Errorf("%s is told: error %t, %s", name, b.IsError, b.Text)
			}
			open := 0
			for _, r := range w.requests() {
				if r.State == session.StateOpen {
					open++
				}
			}
			if open != 2-i {
				t.Errorf("after %d answers %d requests are open", i+1, open)
			}
		}
		w.Ran("ann", 1)
		w.Ran("cid", 1)
		w.Ran("bob", 0)
		w.once(3)
		w.quiet()
	})
}

// Where nobody is there to answer elsewhere, a teammate's dialog is in the lead's terminal without delay, its row says
// so, and the row is over with the dialog.
func TestMateUnattended(t *testing.T) {
	troubled(t, func(t *testing.T, version string) {
		if version == claudetest.Explicit {
			t.Skip("this version makes a team only when it is told to")
		}
		w := newWorld(t, version, crew("ann"))
		s := w.H.StartIn(w.H.Work, []string{teams}, "--permission-mode", "default", "--teammate-mode", "in-process", "you are marker-lead")
		at := func() (row decide.SessionRow) {
			for _, r := range w.rows() {
				if r.Under != "" && strings.Contains(r.Why, "answer in its own terminal") {
					row = r
				}
			}
			return row
		}
		claudetest.Until(w.T, func() string { return "no row of the teammate waits\n" + s.Screen() + w.OK("status") }, func() bool { return at().Name != "" })
		if row := at(); row.Name != "ann" || row.State != session.RowWaitingHuman || len(row.Handles) > 0 || !strings.Contains(row.Why, ">>ann") {
			t.Errorf("the row is %+v", row)
		}
		if r, ok := w.find(">>ann"); !ok || !r.Left() {
			t.Errorf("%s, %+v", r.State, r.Closed)
		}
		w.Ran("ann", 0)
		s.Choose(dialog, "1")
		w.M.Await("ann's result", func(r claudetest.Request) bool {
			return strings.Contains(r.First(), "marker-ann") && r.Turns() == 1 && len(r.Results()) == 1
		})
		w.Ran("ann", 1)
		claudetest.Until(w.T, func() string { return "answered, it is listed as before: " + w.OK("status") }, func() bool { return at().Name == "" })
		w.quiet()
	})
}

// A teammate in a pane of its own runs no hook of ours when it asks: the lead's notification names it,
// and the list names the place to answer.
func TestPaneMate(t *testing.T) {
	troubled(t, func(t *testing.T, version string) {
		if version == claudetest.Explicit {
			t.Skip("this version makes a team only when it is told to")
		}
		w := newWorld(t, version, crew("bob"))
		s := w.H.StartIn(w.H.Work, []string{teams}, "--permission-mode", "default", "--teammate-mode", "tmux", "you are marker-lead")
		var row decide.SessionRow
		claudetest.Until(w.T, func() string { return "no row says answer at the lead\n" + s.Screen() + w.OK("status") }, func() bool {
			for _, r := range w.rows() {
				if strings.Contains(r.Why, "answer at the lead") {
					row = r
					return true
				}
			}
			return false
		})
		if row.Name != "bob" || row.Under == "" || row.State != session.RowWaitingHuman || len(row.Handles) > 0 || !strings.Contains(row.Why, "Bash") {
			t.Errorf("the row is %+v", row)
		}
		w.Ran("bob", 0)
		s.Choose(dialog, "1")
		w.M.Await("bob's result", func(r claudetest.Request) bool {
			return strings.Contains(r.First(), "marker-bob") && r.Turns() == 1 && len(r.Results()) == 1
		})
		w.Ran("bob", 1)
		claudetest.Until(w.T, func() string { return "answered, it is listed as before: " + w.OK("status") }, func() bool {
			return !slices.ContainsFunc(w.rows(), func(r decide.SessionRow) bool { return strings.Contains(r.Why, "answer at the lead") })
		})
	})
}
