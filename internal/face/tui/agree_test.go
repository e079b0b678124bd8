package tui_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"waggle/internal/face/tui"
	"waggle/internal/face/view"
	"waggle/internal/face/view/page"
	"waggle/operator/inspect"
	"waggle/operator/process"
	"waggle/spawn"
)

// TestViewsAgree: the page, status and the full screen list a member in the same group, and say the same words, for each
// state and what else is known of it.
func TestViewsAgree(t *testing.T) {
	now := time.Date(2026, 11, 21, 14, 0, 0, 0, time.UTC)
	clock := func(time.Time) string { return "15:00" }
	up := func(change func(f *inspect.MemberFacts)) inspect.MemberFacts {
		f := inspect.MemberFacts{Now: now, Led: true, PID: 7, Process: spawn.Running, Up: true, Ready: true}
		change(&f)
		return f
	}
	waits := func(of string) *inspect.Waits { return &inspect.Waits{What: "it waits", For: of} }
	merged := func(m *inspect.MemberStatus) { m.Refused = &process.RefusedMerge{Why: "a conflict in a.go"} }
	for _, c := range []struct {
		name  string
		f     inspect.MemberFacts
		fact  func(m *inspect.MemberStatus) // what status has beside the facts
		state inspect.MemberState
		words string
		group string
	}{
		{"starting", up(func(f *inspect.MemberFacts) { f.Up = false }), nil, inspect.StateStarting, "working", "Working"},
		{"queued", inspect.MemberFacts{Led: true, Queued: "place 1 of 2"}, nil, inspect.StateQueued, "queued", "Queued"},
		{"setup", inspect.MemberFacts{Led: true, Setup: waits("")}, nil, inspect.StateBlocked, "blocked: setup", "Failed"},
		{"working", up(func(f *inspect.MemberFacts) { f.Turn = waits("") }), nil, inspect.StateWorking, "working", "Working"},
		{"asks", up(func(f *inspect.MemberFacts) { f.Asks = waits("") }), nil, inspect.StateHuman, "needs you", "Needs you"},
		{"asks its lead", up(func(f *inspect.MemberFacts) { f.Asks = &inspect.Waits{Peer: true} }), nil, inspect.StatePeer, "waits for team-lead", "Working"},
		{"a guest asks its lead", inspect.MemberFacts{Files: true, Session: &inspect.Health{State: inspect.StatePeer}}, nil, inspect.StatePeer, "waits for team-lead", "Working"},
		{"waits for a peer", up(func(f *inspect.MemberFacts) { f.Todo = waits("bob") }), nil, inspect.StatePeer, "waits for bob", "Working"},
		{"a command outlives its turn", up(func(f *inspect.MemberFacts) { f.Commands = []inspect.Command{{What: "make"}} }), nil, inspect.StateBackground, "working", "Working"},
		{"failed", up(func(f *inspect.MemberFacts) { f.Failed = waits("") }), nil, inspect.StateFailed, "failed", "Failed"},
		{"failed, and its task is noted", up(func(f *inspect.MemberFacts) { f.Failed = waits("") }), func(m *inspect.MemberStatus) { m.Unsettled = "failed: no" }, inspect.StateFailed, "failed", "Failed"},
		{"held up", up(func(f *inspect.MemberFacts) { f.HeldUp = waits("bob/2") }), nil, inspect.StateHeldUp, "blocked by bob/2", "Failed"},
		{"asleep", up(func(f *inspect.MemberFacts) {}), nil, inspect.StateIdle, "asleep", "Ready"},
		{"ready", up(func(f *inspect.MemberFacts) { f.Finished = true }), nil, inspect.StateIdle, "ready", "Ready"},
		{"not merged", up(func(f *inspect.MemberFacts) { f.Finished = true }), merged, inspect.StateIdle, "ready", "Needs you"},
		{"resolved", up(func(f *inspect.MemberFacts) { f.Finished = true }), func(m *inspect.MemberStatus) { m.Resolved = true }, inspect.StateIdle, "ready", "Needs you"},
		{"says by file that it is done", up(func(f *inspect.MemberFacts) {}), func(m *inspect.MemberStatus) { m.Unsettled = "says by file that it is done" }, inspect.StateIdle, "asleep", "Needs you"},
		{"not merged, at work", up(func(f *inspect.MemberFacts) { f.Turn = waits("") }), merged, inspect.StateWorking, "working", "Working"},
		{"has a task to begin", up(func(f *inspect.MemberFacts) { f.Held, f.Begins = "has task 3 to begin", true }), nil, inspect.StateIdle, "working", "Working"},
		{"keeps words", up(func(f *inspect.MemberFacts) { f.Held = "keeps what bob said" }), nil, inspect.StateIdle, "asleep", "Ready"},
		{"a task of nobody", up(func(f *inspect.MemberFacts) { f.Held, f.Unowned = "waits", "task 3" }), nil, inspect.StateIdle, "waits for task 3", "Working"},
		{"paused", up(func(f *inspect.MemberFacts) { f.Paused = waits("") }), nil, inspect.StatePaused, "needs you", "Needs you"},
		{"limited", up(func(f *inspect.MemberFacts) {
			f.Limited = &inspect.Limited{Until: now.Add(time.Hour), Why: "five_hour"}
		}), nil, inspect.StateLimited, "rate-limited until 15:00", "Working"},
		{"taken", up(func(f *inspect.MemberFacts) { f.Taken = waits("") }), nil, inspect.StateTaken, "working", "Working"},
		{"stalled", up(func(f *inspect.MemberFacts) { f.Process = spawn.Stopped }), nil, inspect.StateStalled, "failed", "Failed"},
		{"dead", up(func(f *inspect.MemberFacts) { f.Process, f.Death = spawn.Gone, &inspect.Death{GaveUp: true} }), nil, inspect.StateDead, "failed", "Failed"},
		{"dead, and not merged", up(func(f *inspect.MemberFacts) { f.Process, f.Death = spawn.Gone, &inspect.Death{GaveUp: true} }), merged, inspect.StateDead, "failed", "Failed"},
		{"dead, and comes back", up(func(f *inspect.MemberFacts) { f.Process, f.Death = spawn.Gone, &inspect.Death{Again: now} }), nil, inspect.StateDead, "working", "Working"},
		{"unknown", up(func(f *inspect.MemberFacts) { f.Broken = "torn" }), nil, inspect.StateUnknown, "unknown", "Unknown"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := c.f.Status()
			m.Name = "ann"
			if c.fact != nil {
				c.fact(&m)
			}
			if got := m.Words(clock); m.State != c.state || got != c.words || m.Group().String() != c.group {
				t.Errorf("%s: %q in %s, want %s: %q in %s", m.State, got, m.Group(), c.state, c.words, c.group)
			}
			st := &inspect.Status{Team: "api", Members: []inspect.MemberStatus{m}}
			page := lines(view.OverviewPage(view.Overview{Teams: []*inspect.Status{st}}, now, 0))
			if !slices.ContainsFunc(page, func(l string) bool { return strings.HasPrefix(l, c.group+" (1)") }) {
				t.Errorf("the page: %q", page)
			}
			status := lines(view.StatusPage(now, false, st))
			row := slices.IndexFunc(status, func(l string) bool { return strings.HasPrefix(l, "ann|") })
			if words := view.Words(m.Stand, now); row < 0 || strings.Split(status[row], "|")[1] != words {
				t.Errorf("status: %q, want %q", status, words)
			}
			play(t, func(t *testing.T, p *tui.Player, _ *desk) {
				p.Resize(160, 24)
				p.Man(tui.Crew{Members: []tui.Member{{Team: "api", MemberStatus: m}}})
				p.Wait(second)
				word, _, _ := strings.Cut(strings.TrimPrefix(c.words, "rate-"), " ")
				if s := p.Text(); !strings.Contains(s, c.group+" (1)") || !strings.Contains(rowOf(p, "ann"), " "+strings.TrimSuffix(word, ":")+" ") {
					t.Error(s)
				}
			})
		})
	}
}

// lines are those of a page, the cells of a row with a bar between them.
func lines(p page.Page) (all []string) {
	for _, b := range p {
		text := ""
		for _, s := range b.Line {
			text += s.Text
		}
		all = append(all, text)
		if b.Table != nil {
			for _, r := range b.Table.Rows {
				all = append(all, strings.Join(r, "|"))
			}
		}
	}
	return all
}
