package tui_test

import (
	"strings"
	"testing"
	"time"

	"waggle/internal/operatortest"
	"waggle/internal/tui"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/board"
	"waggle/operator/inspect"
	"waggle/record"
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
		p.Keys("down")
		p.Wait(second)
		for _, text := range []string{"team old: ended: taken down, left 1 with work", "at 1999-12-31 23:00", "next: read-ended"} {
			if s := p.Text(); !strings.Contains(s, text) {
				t.Errorf("%q is missing\n%s", text, s)
			}
		}
		p.Keys("down")
		p.Wait(second)
		for _, text := range []string{"worktree ann@api: walk: completed; kept: 1 file changed", "/trees/ann", "next: merge-again ann"} {
			if s := p.Text(); !strings.Contains(s, text) {
				t.Errorf("%q is missing\n%s", text, s)
			}
		}
		for _, c := range []string{"a", "d", "r", "e", "b", "c", "S", "m", "g", "t", "w", "v", "right", "enter", "esc"} {
			p.Keys(c)
			p.Wait(second)
			if c == "m" || c == "g" || c == "t" {
				if s := p.Text(); !strings.Contains(s, "it is done; next: merge-again ann") {
					t.Errorf("%s: %s", c, s)
				}
			}
			p.Keys("esc", "end")
			p.Wait(second)
		}
		if len(d.acts) != 0 {
			t.Errorf("%+v", d.acts)
		}
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

// TestLiveDone: a team that has ended, and a member that has left one that goes on.
func TestLiveDone(t *testing.T) {
	op := operatortest.New(t)
	old := operatortest.Team(t, op, "old", record.PolicySet{})
	old.Write(journal.Draft{Kind: record.KindEnded, Must: true, Body: record.Ended{How: "down"}})
	r := operatortest.Team(t, op, "api", record.PolicySet{})
	s := r.State()
	ann := r.Enlist(s, "ann")
	r.Enlist(s, "bob")
	r.Write(journal.Draft{Kind: record.KindLeft, Must: true, Body: record.Left{Instance: ann.Instance, How: record.LeftStopped}})
	done, err := tui.NewLive(op, "").Done(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range done {
		got = append(got, strings.Join([]string{d.Kind, d.Team, d.Member, d.Says, string(d.Do.Step)}, "|"))
	}
	if want := "team|old||ended: taken down|read-ended\nmember|api|ann|was ended|why"; !strings.HasPrefix(strings.Join(got, "\n"), want) {
		t.Errorf("%q, want %q", got, want)
	}
	done, err = tui.NewLive(op, "api").Done(t.Context())
	if err != nil || len(done) == 0 || done[0].Member != "ann" {
		t.Errorf("of one team: %+v, %v", done, err)
	}
}
