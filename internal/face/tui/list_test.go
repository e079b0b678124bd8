package tui_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/charmbracelet/x/ansi"

	"waggle/internal/face/tui"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/policy"
	"waggle/record"
	"waggle/task"
)

// crowd is a screen of n members in some teams, of which asks members ask.
func crowd(p *tui.Player, n, teams, asking int) {
	names := []string{"alice", "bob", "parser-rewrite-for-release-2", "研究者", "dora", "e", "fay", "gus", "henrietta", "ivo"}
	states := []inspect.MemberState{inspect.StateWorking, inspect.StateWorking, inspect.StateIdle, inspect.StateWorking, inspect.StateDead}
	ages := []time.Duration{7 * time.Second, 4 * time.Minute, 3 * time.Hour, 50 * time.Hour}
	var c tui.Crew
	var qs []decide.Request
	all, stats := kindsAsked(), map[tui.MemberKey]tui.Lines{}
	for i := range n {
		name := names[i%len(names)]
		if i >= len(names) {
			name += fmt.Sprint(i / len(names))
		}
		m := member(name, states[i%len(states)], "")
		m.Team, m.Since = fmt.Sprint("team", i%teams), time.Now().Add(-ages[i%len(ages)])
		if m.State == inspect.StateDead {
			m.Why = "process 77 is gone"
		} else {
			m.Spent = &record.Usage{CostMicros: int64(i) * 310000, Source: "reported"}
		}
		status := task.InProgress
		if m.State == inspect.StateIdle {
			status = task.Completed
		}
		t := taskOf(name, "Fix the flaky login test of the browser", status)
		t.Team, t.ID = m.Team, task.ID(fmt.Sprint(i))
		c.Members, c.Tasks = append(c.Members, m), append(c.Tasks, t)
		stats[tui.MemberKey{Team: m.Team, Member: name}] = tui.Lines{Added: 41 * i, Deleted: 7 * i}
		if i < asking {
			q := all[i%len(all)]
			q.Team, q.Member, q.Handle, q.ID, q.Asked.Time = m.Team, name, fmt.Sprintf("K%03d", i), fmt.Sprint("perm-", i), m.Since
			qs = append(qs, q)
		}
	}
	decide.SortRequests(qs)
	p.Man(c)
	p.Count(stats)
	p.Stand(qs...)
}

// kindsAsked are the requests of every kind.
func kindsAsked() []decide.Request {
	_, qs, _ := kinds()
	for i := range qs {
		if qs[i].Edited() != "" {
			qs[i].Input = []byte(strings.ReplaceAll(string(qs[i].Input), `"/src/`, `"/src/internal/browser/session/`))
		}
	}
	return qs
}

// TestLists compares lists of ten members of a team, of every kind of request, and of forty members of six teams.
func TestLists(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {300, 80}} {
		for _, c := range []struct {
			name             string
			n, teams, asking int
		}{{"ten", 10, 1, 3}, {"kinds", 14, 1, 14}, {"forty", 40, 6, 6}} {
			full := fmt.Sprintf("list-%s-%dx%d", c.name, size[0], size[1])
			t.Run(full, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := tui.Play(&desk{}, size[0], size[1], false)
					defer p.Close()
					crowd(p, c.n, c.teams, c.asking)
					golden(t, full, p.Text(), size)
				})
			})
		}
	}
}

// What is cut first in a row: the cost, then the lines, then the end of the task, and of a file's name its beginning.
// The columns stand below each other, also behind wide characters.
func TestRowCut(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, _ *desk) {
		crowd(p, 10, 1, 0)
		for w, want := range map[int]string{
			160: "bob              working    4m Fix the flaky … +41 -7 $0.31",
			120: "bob           4m Fix the flak… +41 -7 $0.31",
			80:  "bob       4m Fix the flaky…",
		} {
			p.Resize(w, 24)
			if got := rowOf(p, "bob"); !strings.Contains(got, want) {
				t.Errorf("%d: %q", w, got)
			}
		}
		p.Resize(80, 24)
		at := -1
		for _, l := range strings.Split(p.Text(), "\n") {
			if before, _, ok := strings.Cut(l, " Fix the"); ok && !strings.Contains(before, "│") {
				if n := ansi.StringWidth(before); at >= 0 && n != at {
					t.Errorf("column %d, not %d: %q", n, at, l)
				} else {
					at = n
				}
			}
		}
		edit := called("Edit", map[string]any{"file_path": "/src/internal/browser/session/login.go", "old_string": "a", "new_string": "b"})
		edit.Team, edit.Member = "team0", "alice"
		p.Resize(80, 24)
		p.Ask(edit)
		if got := rowOf(p, "Edit"); !strings.Contains(got, "Edit …login.go") {
			t.Errorf("%q", got)
		}
	})
}

// Without colours the marks, the signs of the lines and the words tell the same.
func TestListColours(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, _ *desk) {
		p.Resize(160, 24)
		p.Man(tui.Crew{Members: []tui.Member{member("erin", inspect.StateWorking, "")}})
		p.Count(map[tui.MemberKey]tui.Lines{{Team: "api", Member: "erin"}: {Added: 2, Deleted: 1}})
		p.Ask(request(1, "alice", "ls", policy.RiskLow))
		for _, want := range []string{"\x1b[32m +2\x1b[m", "\x1b[31m -1\x1b[m"} {
			if !strings.Contains(p.Frame(), want) {
				t.Errorf("no %q in %q", want, p.Frame())
			}
		}
	})
}

// The calls of an agent stand out in its output, and those that failed.
func TestOutputStyles(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, d *desk) {
		d.lines = []string{"I look.", "[mcp__db__query] select 1", "    failed: no table", "[1/2] step"}
		p.Man(tui.Crew{Members: []tui.Member{member("erin", inspect.StateWorking, "")}})
		p.Wait(second)
		for _, want := range []string{" I look.", "\x1b[1m[mcp__db__query] select 1", "\x1b[31m    failed: no table", " [1/2] step"} {
			if !strings.Contains(p.Frame(), want) {
				t.Errorf("no %q in %q", want, p.Frame())
			}
		}
	})
}
