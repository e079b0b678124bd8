package tui_test

import (
	"strings"
	"testing"
	"time"

	"waggle/internal/face/tui"
	"waggle/operator"
	"waggle/operator/board"
	"waggle/operator/inspect"
	"waggle/task"
)

// TestDone: what has ended and what is kept have rows below the others, with the next command beside them; no key
// acts on them.
func TestDone(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, d *desk) {
		p.Resize(140, 30)
		p.Man(tui.Crew{Members: []tui.Member{member("dan", inspect.StateIdle, "")},
			Tasks: []tui.Task{{Team: "api", TaskView: board.TaskView{Owner: "ann", Subject: "walk", Status: task.Completed}}}})
		p.Over(tui.Done{Kind: "team", Team: "old", ID: "1", At: time.Now().Add(-time.Hour), Says: "ended: taken down, left 1 with work", Do: operator.Next{Step: "read-ended", Team: "old"}},
			tui.Done{Kind: "worktree", Team: "api", Member: "ann", ID: "2", Path: "/trees/ann", Says: "kept: 1 file changed", Do: operator.Next{Step: "merge-again", Member: "ann"}})
		p.Wait(second)
		if s := p.Text(); !strings.Contains(s, "Done (2)") || p.On() != "dan" || strings.Index(s, "Done (2)") < strings.Index(s, "Ready (1)") {
			t.Fatalf("on %s\n%s", p.On(), s)
		}
		p.Press("down")
		for _, text := range []string{"team old: ended: taken down, left 1 with work", "at 1999-12-31 23:00", "next: read-ended"} {
			if s := p.Text(); !strings.Contains(s, text) {
				t.Errorf("%q is missing\n%s", text, s)
			}
		}
		p.Press("down")
		for _, text := range []string{"worktree ann@api: walk: completed; kept: 1 file changed", "/trees/ann", "next: merge-again ann"} {
			if s := p.Text(); !strings.Contains(s, text) {
				t.Errorf("%q is missing\n%s", text, s)
			}
		}
		for _, c := range []string{"a", "d", "r", "e", "b", "c", "S", "m", "g", "t", "w", "v", "right", "enter", "esc"} {
			p.Press(c)
			if c == "m" || c == "g" || c == "t" {
				if s := p.Text(); !strings.Contains(s, "it is done; next: merge-again ann") {
					t.Errorf("%s: %s", c, s)
				}
			}
			p.Press("esc", "end")
		}
		none(t, d)
		p.Over()
		p.Wait(second)
		if s := p.Text(); p.On() != "ann@api" || !p.Gone() || !strings.Contains(s, "it is not there any more") {
			t.Errorf("on %s\n%s", p.On(), s)
		}
		p.Keys("up")
		if s := p.Text(); p.On() != "dan" || strings.Contains(s, "ann@api") {
			t.Errorf("on %s\n%s", p.On(), s)
		}
	})
}

// The cursor leaves what is done for what runs, while the person has not put it there, and for a member that the person
// has started.
func TestDoneIsNotChosen(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, _ *desk) {
		bob, old := member("bob", inspect.StateIdle, ""), []tui.Done{{Kind: "team", Team: "old", ID: "1"}, {Kind: "team", Team: "older", ID: "2"}}
		p.Over(old...)
		p.Wait(second)
		p.Man(tui.Crew{Members: []tui.Member{bob}})
		if p.Wait(second); p.On() != "bob" {
			t.Errorf("on %s", p.On())
		}
		p.Press("end")
		p.Man(tui.Crew{Members: []tui.Member{bob, member("eve", inspect.StateIdle, "")}})
		if p.Wait(second); p.On() != "older" {
			t.Errorf("on %s, which the person has chosen", p.On())
		}
		p.Keys("n")
		p.Type("fix it")
		p.Press("enter")
		p.Man(tui.Crew{Members: []tui.Member{bob, member("fix-it", inspect.StateIdle, "")}})
		if p.Wait(second); p.On() != "bob" {
			t.Errorf("on %s", p.On())
		}
	})
}
