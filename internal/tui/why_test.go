package tui_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"waggle/internal/tui"
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
