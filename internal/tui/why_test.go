package tui_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"waggle/internal/operatortest"
	"waggle/internal/tui"
	"waggle/operator/inspect"
	"waggle/policy"
	"waggle/record"
)

// TestLiveWhy: the tab Why has what waggle why says of a request, and of its member with the evidence.
func TestLiveWhy(t *testing.T) {
	op := operatortest.New(t)
	r := operatortest.Team(t, op, "api", record.PolicySet{})
	r.Asks("ann", operatortest.Bash("make"))
	q := r.Pending(1)[0]
	live := tui.NewLive(op, "")
	read := func(p tui.Page) string {
		t.Helper()
		paper, err := live.Page(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(paper.Lines, "\n")
	}
	member := read(tui.Page{Tab: tui.TabWhy, Team: "api", Member: "ann", Lines: 1000})
	if !strings.Contains(member, "ann  needs you") || !strings.Contains(member, "SOURCE") || strings.Contains(member, "\nnow\n") {
		t.Error(member)
	}
	asked := read(tui.Page{Tab: tui.TabWhy, Team: "api", Member: "ann", Ask: string(q.ID), Lines: 1000})
	for _, text := range []string{q.Handle, "it waits for an answer", "\nnow\n", "ann  needs you", "SOURCE"} {
		if !strings.Contains(asked, text) {
			t.Errorf("%q is missing: %s", text, asked)
		}
	}
	if _, err := live.Page(t.Context(), tui.Page{Tab: tui.TabWhy, Team: "api", Member: "nobody"}); err == nil {
		t.Error("of nobody")
	}
}

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
			p.Keys("right")
			p.Wait(second)
		}
		if s := p.Text(); !strings.Contains(s, "[Why]") || !strings.Contains(s, "unknown: its journal is torn") {
			t.Error(s)
		}
		p.Keys("down")
		p.Wait(second)
		for range 4 {
			if !strings.Contains(p.Text(), "[Why]") {
				p.Keys("right")
				p.Wait(second)
			}
		}
		for _, want := range []tui.Page{{Tab: tui.TabWhy, Team: "api", Member: "alice", Ask: "perm-1", Lines: 1000}, {Tab: tui.TabWhy, Team: "api", Member: "bob", Lines: 1000}} {
			if !slices.Contains(d.asked, want) {
				t.Errorf("%+v is missing: %+v", want, d.asked)
			}
		}
	})
}
