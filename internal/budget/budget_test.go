package budget_test

import (
	"testing"

	"waggle/internal/budget"
	_ "waggle/internal/fs/atomicfile/ordertest" // every test checks the order of its locks
	"waggle/protocol"
	"waggle/record"
)

func tokens(n int64) *record.Limit { return &record.Limit{Tokens: n} }

func used(n int64) record.Usage { return record.Usage{Input: n, Source: record.UsageReported} }

// TestSet: AsSet returns the limits as Set got them. Same holds for the same limits, and not for
// another limit, one more or one fewer. A limit of nothing is no limit.
func TestSet(t *testing.T) {
	var a budget.Account
	if a.AsSet() != nil || !a.Same(record.Budgets{Team: &record.Limit{}}) {
		t.Error("an account without budgets has some")
	}
	b := record.Budgets{Team: tokens(100), Members: map[protocol.MemberName]record.Limit{"ann": {Tokens: 10}}}
	a.Set(b)
	got := a.AsSet()
	if !a.Same(b) || *got.Team != *b.Team || got.Run != nil || got.Members["ann"].Tokens != 10 || len(got.Members) != 1 {
		t.Errorf("%+v", got)
	}
	for name, other := range map[string]record.Budgets{
		"another limit": {Team: tokens(101), Members: b.Members}, "one fewer": {Team: b.Team}, "one more": {Team: b.Team, Run: tokens(1), Members: b.Members},
		"of another": {Team: b.Team, Members: map[protocol.MemberName]record.Limit{"bob": {Tokens: 10}}},
	} {
		if a.Same(other) {
			t.Error(name, "is the same")
		}
	}
}

// TestRaised: a raise holds while the limit is the same and ends with it; it never lowers a limit or
// makes one.
func TestRaised(t *testing.T) {
	var a budget.Account
	team := budget.Of{Scope: record.ScopeTeam}
	now := func() int64 { return a.Limits[team].Now.Tokens }
	a.Set(record.Budgets{Team: tokens(100)})
	a.Raise(team, record.Limit{Tokens: 150})
	a.Raise(team, record.Limit{Tokens: 120})
	a.Raise(budget.Of{Scope: record.ScopeRun}, record.Limit{Tokens: 150})
	if now() != 150 || len(a.Limits) != 1 || a.AsSet().Team.Tokens != 100 {
		t.Errorf("%+v", a.Limits)
	}
	a.Set(record.Budgets{Team: tokens(100), Run: tokens(5)})
	if now() != 150 {
		t.Errorf("the same limit: %d", now())
	}
	a.Set(record.Budgets{Team: tokens(90)})
	if now() != 90 {
		t.Errorf("another limit: %d", now())
	}
}

// TestUsed: the newest report of each member counts once, a member's present report replaces the
// counted one, and a run counts from its beginning.
func TestUsed(t *testing.T) {
	var a budget.Account
	silent := record.Usage{Turns: 1}
	if !a.Counts("i1", used(1)) || a.Counts("i1", record.Usage{}) || a.Counts("i1", silent) {
		t.Error("what is used counts not, or nothing counts, or turns count although nothing bounds them")
	}
	a.Set(record.Budgets{Team: &record.Limit{Turns: 9}})
	if !a.Counts("i1", silent) {
		t.Error("turns count not where they are bounded")
	}
	a.Count("i1", used(40))
	a.Set(record.Budgets{Run: tokens(100), From: used(40)})
	if !a.Counts("i1", used(41)) || a.Counts("i1", used(40)) || a.Counts("i2", record.Usage{}) {
		t.Error("what counts is no news, or news does not count")
	}
	a.Count("i1", used(50))
	a.Count("i2", used(5))
	if got := a.Used("", record.Usage{}); got.Input != 55 || got.Source != record.UsageReported {
		t.Errorf("all: %+v", got)
	}
	got := a.Used("i1", used(60))
	if got.Input != 65 || a.OfRun(got).Input != 25 {
		t.Errorf("with the newest: %+v", got)
	}
	a.Set(record.Budgets{Run: tokens(200), From: used(99)})
	if a.From.Input != 40 {
		t.Errorf("a run that had a budget counts from %d", a.From.Input)
	}
}
