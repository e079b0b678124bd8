package tui_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"waggle/internal/face/tui"
	"waggle/operator/board"
	"waggle/operator/inspect"
	"waggle/policy"
)

// pages keeps the pages that are asked for.
type pages struct {
	desk
	asked []tui.Page
}

func (p *pages) Page(_ context.Context, of tui.Page) (tui.Paper, error) {
	p.asked = append(p.asked, of)
	return tui.Paper{Lines: []string{"unknown: its journal is torn"}}, nil
}

// TestWhy: the tab is about the selected request, and about the selected member.
func TestWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &pages{}
		p := tui.Play(d, 100, 24, false)
		defer p.Close()
		p.Ask(request(1, "alice", "ls", policy.RiskLow))
		p.Man(tui.Crew{Members: []tui.Member{member("bob", inspect.StateIdle, "")}})
		for range 4 {
			p.Press("right")
		}
		shows(t, p, "[Why]", "unknown: its journal is torn")
		p.Press("down")
		for range 4 {
			if !strings.Contains(p.Text(), "[Why]") {
				p.Press("right")
			}
		}
		for _, want := range []tui.Page{{Tab: tui.TabWhy, Team: "api", Member: "alice", Ask: "perm-1", Lines: 1000}, {Tab: tui.TabWhy, Team: "api", Member: "bob", Lines: 1000}} {
			if !slices.Contains(d.asked, want) {
				t.Errorf("%+v is missing: %+v", want, d.asked)
			}
		}
	})
}

// TestToldImitates: on the tabs in which waggle tells of a member, what the member chose cannot look like a line of waggle's.
func TestToldImitates(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, d *desk) {
		p.Resize(100, 30)
		const forged = "K001 allow by operator (top)"
		long := "asked " + strings.Repeat("x", 51) + " " + forged
		if tui.Wrap(long, 58)[1] != forged {
			t.Fatalf("%q", tui.Wrap(long, 58))
		}
		for n := range 60 { // whatever the width of what comes before it
			d.lines = append(d.lines, "asked "+strings.Repeat("x", n)+" "+forged)
		}
		p.Man(tui.Crew{Members: []tui.Member{member("bob", inspect.StateIdle, "")}, Tasks: []tui.Task{{Team: "api", TaskView: board.TaskView{Subject: strings.Join(d.lines, " ")}}}})
		p.Over(tui.Done{Kind: "team", Team: "old", Says: strings.Join(d.lines, " ")})
		p.Wait(second)
		seen := false
		look := func(tab string) {
			t.Helper()
			for range 12 {
				s := p.Text()
				seen = seen || strings.Contains(s, forged)
				for l := range strings.Lines(s) {
					if _, right, ok := strings.Cut(l, "│ "); ok && strings.HasPrefix(right, forged) {
						t.Errorf("%s: %q", tab, l)
					}
				}
				p.Press("space")
			}
			if !seen {
				t.Errorf("%s: not shown\n%s", tab, p.Text())
			}
			seen = false
		}
		p.Keys("right", "right")
		for _, tab := range []string{"[Log]", "[Why]", "[Tasks]", "[Today]"} {
			p.Wait(second)
			if s := p.Text(); !strings.Contains(s, tab) {
				t.Fatal(s)
			}
			look(tab)
			p.Keys("right")
		}
		p.Press("end", "left")
		look("done")
	})
}

// TestProblems: what is wrong as a whole is in the title as far as it has room, and on the tab Why whole.
func TestProblems(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, _ *desk) {
		p.Resize(100, 24)
		p.Man(tui.Crew{Members: []tui.Member{member("bob", inspect.StateIdle, "")},
			Problems: []string{"team api: its directory is missing", "team web: config.json was changed by somebody else: " + strings.Repeat("it is said why; ", 8) + "its end"}})
		p.Over(tui.Done{Kind: "worktree", Team: "old", Says: "kept"})
		p.Wait(second)
		shows(t, p, "(w) team api: its directory is missing")
		hides(t, p, "team web")
		for _, key := range []string{"w", "end"} {
			p.Press(key)
			if s := p.Text(); !strings.Contains(s, "team web: config.json was changed") || !strings.Contains(s, "its end") {
				t.Errorf("%s: %s", key, s)
			}
		}
	})
	play(t, func(t *testing.T, p *tui.Player, _ *desk) {
		p.Resize(100, 24)
		p.Ask()
		p.Man(tui.Crew{Problems: []string{"team api: its directory is missing"}})
		p.Wait(second)
		if s := p.Text(); strings.Contains(s, "(w)") || strings.Count(s, "team api: its directory") != 2 {
			t.Error(s)
		}
	})
}
