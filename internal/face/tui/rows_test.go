package tui_test

import (
	"strings"
	"testing"

	"waggle/internal/face/tui"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/operator/process"
	"waggle/policy"
	"waggle/task"
)

// rowOf is the line of the list with a text.
func rowOf(p *tui.Player, text string) string {
	for _, l := range strings.Split(p.Text(), "\n") {
		if list, _, _ := strings.Cut(l, "│"); strings.Contains(list, text) {
			return list
		}
	}
	return ""
}

func taskOf(owner, subject string, status task.Status) tui.Task {
	var t tui.Task
	t.Team, t.Owner, t.Subject, t.Status = "api", owner, subject, status
	return t
}

// A row of a member that works has the last line of its output, as visible characters.
func TestLastLineInTheRow(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, _ *desk) {
		p.Resize(200, 24)
		m := member("erin", inspect.StateWorking, "")
		m.Last = "ok \x1b[31mparser"
		p.Man(tui.Crew{Members: []tui.Member{m}, Tasks: []tui.Task{taskOf("erin", "parse", task.InProgress)}})
		if got := rowOf(p, "erin"); !strings.Contains(got, `parse: ok \x1b[31mparser`) {
			t.Errorf("%q\n%s", got, p.Text())
		}
	})
}

// A setup that failed, a merge that was refused and a conflict that its member has resolved need the
// person, with the next step.
func TestNeedsThePerson(t *testing.T) {
	tree := &process.WorktreeView{}
	for name, c := range map[string]struct {
		state inspect.MemberState
		why   string
		tasks []tui.Task
		fact  func(m *tui.Member) // what status says of its merge; nil: nothing
		row   string
		in    string // what the title counts it as
		next  operator.Step
	}{
		"setup": {state: inspect.StateBlocked, why: "npm ci failed", row: "blocked: setup: npm ci failed", in: "failed", next: operator.NextPeekResume},
		"refused": {state: inspect.StateIdle, tasks: []tui.Task{taskOf("erin", "parse", task.Completed)},
			fact: func(m *tui.Member) {
				m.Refused = &process.RefusedMerge{Why: "waggle/erin and main conflict in a.go", Into: "main"}
			},
			row: "not merged: waggle/erin", in: "need you", next: operator.NextMergeAgain},
		"resolved": {state: inspect.StateIdle, tasks: []tui.Task{taskOf("erin", "Resolve the conflict of waggle/erin with main", task.Completed)},
			fact: func(m *tui.Member) { m.Resolved = true },
			row:  "it has resolved its conflict", in: "need you", next: operator.NextMergeAgain},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, p *tui.Player, _ *desk) {
				p.Resize(200, 24)
				m := member("erin", c.state, c.why)
				m.Worktree = tree
				before := m
				if c.fact != nil {
					c.fact(&m)
				}
				p.Man(tui.Crew{Members: []tui.Member{m}, Tasks: c.tasks})
				p.Wait(second)
				s := p.Text()
				if !strings.Contains(s, "1 "+c.in) || !strings.Contains(rowOf(p, "erin"), c.row) || !strings.Contains(s, "next: "+string(c.next)+" erin") {
					t.Error(s)
				}
				if c.fact != nil { // merged since, by whatever process
					p.Man(tui.Crew{Members: []tui.Member{before}, Tasks: c.tasks})
					p.Wait(second)
					shows(t, p, "0 need you")
				}
			})
		})
	}
}

// The state of a member has its own column; the reason why a setup failed is in the text of the row.
func TestStateInItsColumn(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, _ *desk) {
		p.Resize(160, 24)
		p.Man(tui.Crew{Members: []tui.Member{member("erin", inspect.StateBlocked, "npm ci failed")}})
		p.Wait(second)
		if got := rowOf(p, "erin"); !strings.Contains(got, "erin blocked  ") {
			t.Errorf("%q", got)
		}
	})
}

// On a narrow screen the tab that is shown is in the line of tabs, and a click hits what is there.
func TestNarrowTabs(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, _ *desk) {
		p.Resize(60, 15)
		p.Man(tui.Crew{Members: []tui.Member{member("erin", inspect.StateIdle, "")}})
		p.Wait(second)
		p.Press("left")
		shows(t, p, "[Today]")
	})
}

// Help that is longer than the screen is read line by line; any other key leaves it.
func TestLongHelp(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, _ *desk) {
		p.Resize(60, 15)
		p.Wait(second)
		p.Press("?")
		shows(t, p, "allow what is shown; high risk by its  ", "↑↓ scroll")
		hides(t, p, "the team goes on")
		p.Press("end")
		shows(t, p, "the team goes on")
		p.Press("d")
		shows(t, p, "n start a member with a task")
		hides(t, p, "the team goes on")
	})
}

// A member that is gone while the cursor is on it says so, and names no next step.
func TestGoneMember(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, _ *desk) {
		p.Resize(120, 24)
		p.Man(tui.Crew{Members: []tui.Member{member("erin", inspect.StateBlocked, "npm ci failed")}})
		p.Wait(second)
		shows(t, p, "next: ")
		p.Man(tui.Crew{})
		p.Wait(second)
		shows(t, p, "erin: it is not in the team any more")
		hides(t, p, "next: ")
	})
}

// A dead member whose request is open has two rows: the request, which says that its asker is dead, and the member,
// with what brings it back.
func TestDeadAndAsks(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, _ *desk) {
		p.Resize(200, 24)
		m := member("erin", inspect.StateDead, "process 7 is gone; nobody starts it again by itself; asks: ls (low)")
		m.Stays = true
		p.Man(tui.Crew{Members: []tui.Member{m}, Tasks: []tui.Task{taskOf("erin", "parse", task.InProgress)}})
		q := request(1, "erin", "ls", policy.RiskLow)
		q.Asker = "its process 7 is dead; the answer waits for its next start"
		p.Stand(q)
		if got := rowOf(p, "K001"); !strings.Contains(got, "(asker dead) ls") {
			t.Errorf("%q\n%s", got, p.Text())
		}
		if got := rowOf(p, "erin failed "); !strings.Contains(got, "erin") || !strings.Contains(got, "process 7 is gone") {
			t.Errorf("%q\n%s", got, p.Text())
		}
		p.Press("down")
		shows(t, p, "next: resume-team")
	})
}

// A session that waits at a dialog of its own needs the person, who answers it in its terminal: there is no
// next step here.
func TestSessionAtADialog(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, _ *desk) {
		p.Resize(200, 24)
		p.Ask()
		m := tui.Member{Team: decide.SessionTeam}
		m.Name, m.State, m.Is, m.Why = "mine", inspect.StateHuman, inspect.ConditionNeedsYou, "it waits: answer in its own terminal"
		p.Man(tui.Crew{Members: []tui.Member{m}})
		if text := p.Text(); !strings.Contains(text, "1 need you") || !strings.Contains(rowOf(p, "mine"), "needs you") ||
			!strings.Contains(text, "answer in its own terminal") || strings.Contains(text, "next:") {
			t.Errorf("%s", text)
		}
	})
}

// A member that has gone stays under the cursor, in its group: what needs the person is above it.
func TestGoneInItsGroup(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, _ *desk) {
		p.Ask()
		p.Man(tui.Crew{Members: []tui.Member{member("lead", inspect.StateUnknown, "")}})
		p.Wait(second)
		p.Man(tui.Crew{Members: []tui.Member{member("ann", inspect.StateWorking, ""), member("bob", inspect.StateIdle, "")}})
		p.Stand(request(1, "ann", "ls", policy.RiskLow))
		s := p.Text()
		at := func(text string) int { return strings.Index(s, text) }
		if p.On() != "lead" || at("Needs you (1)") < 0 || at("Unknown (0)") < at("Needs you (1)") || at("Ready (1)") < at("Unknown (0)") || strings.Contains(rowOf(p, "lead"), "ok") {
			t.Errorf("on %s\n%s", p.On(), s)
		}
	})
}
