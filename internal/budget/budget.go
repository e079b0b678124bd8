// Package budget is the account of a team: what may be used, what it was raised to, and what its
// members have used. Its fields are exported for the snapshot of the fold that holds it.
package budget

import (
	"maps"

	"waggle/protocol"
	"waggle/record"
)

// Of names a budget: of a member, or of the team or a run, without a name.
type Of struct {
	Scope record.BudgetScope
	Name  protocol.MemberName
}

// Limit is a limit as it was set, and as far as the operator has raised it.
type Limit struct {
	Set, Now record.Limit
}

// Account is the budgets of a team and what counts against them. The zero value has none. It is not
// safe for concurrent use.
type Account struct {
	Limits map[Of]Limit
	Spent  map[record.Instance]record.Usage // what members have used in all
	From   record.Usage                     // what the team had used when the run began
}

func limits(b record.Budgets) map[Of]record.Limit {
	all := map[Of]record.Limit{}
	put := func(of Of, l *record.Limit) {
		if l != nil && l.Set() {
			all[of] = *l
		}
	}
	put(Of{Scope: record.ScopeTeam}, b.Team)
	put(Of{Scope: record.ScopeRun}, b.Run)
	put(Of{Scope: record.ScopeBrake}, b.Brake)
	for name, one := range b.Members {
		put(Of{record.ScopeMember, name}, &one)
	}
	return all
}

// Same reports whether these are the budgets that are set.
func (a *Account) Same(b record.Budgets) bool {
	return maps.EqualFunc(limits(b), a.Limits, func(want record.Limit, is Limit) bool { return want == is.Set })
}

// Set sets the budgets. What was raised stays raised where the limit is the same, and a run that has a
// budget already counts from where it did.
func (a *Account) Set(b record.Budgets) {
	next := map[Of]Limit{}
	for of, limit := range limits(b) {
		one := Limit{Set: limit, Now: limit}
		if had, ok := a.Limits[of]; ok && had.Set == limit {
			one.Now = had.Now
		}
		next[of] = one
	}
	if _, ran := a.Limits[Of{Scope: record.ScopeRun}]; !ran {
		a.From = b.From
	}
	a.Limits = next
}

// AsSet is the budgets as they were set, nil without any.
func (a *Account) AsSet() *record.Budgets {
	if len(a.Limits) == 0 {
		return nil
	}
	b := &record.Budgets{From: a.From}
	for of, one := range a.Limits {
		switch set := one.Set; of.Scope {
		case record.ScopeTeam:
			b.Team = &set
		case record.ScopeRun:
			b.Run = &set
		case record.ScopeBrake:
			b.Brake = &set
		case record.ScopeMember:
			if b.Members == nil {
				b.Members = map[protocol.MemberName]record.Limit{}
			}
			b.Members[of.Name] = set
		}
	}
	return b
}

// Raise raises a budget, and never lowers one. One that is not set stays unset. A brake that is raised to
// nothing has no limit any more.
func (a *Account) Raise(of Of, to record.Limit) {
	if b, ok := a.Limits[of]; ok {
		if b.Now = b.Now.Raised(to); of.Scope == record.ScopeBrake && !to.Set() {
			b.Now = record.Limit{}
		}
		a.Limits[of] = b
	}
}

// Counts reports whether a usage is news of a member: it has used something else than is counted. Turns
// of an agent that says nothing count where a budget bounds turns.
func (a *Account) Counts(i record.Instance, u record.Usage) bool {
	return (u.Source != "" || a.boundsTurns()) && u != a.Spent[i]
}

func (a *Account) boundsTurns() bool {
	for _, one := range a.Limits {
		if one.Set.Turns > 0 {
			return true
		}
	}
	return false
}

// Count sets what a member has used in all.
func (a *Account) Count(i record.Instance, u record.Usage) {
	if a.Spent == nil {
		a.Spent = map[record.Instance]record.Usage{}
	}
	a.Spent[i] = u
}

// Used is what all members have used, with now as the newest of one of them ("": of none).
func (a *Account) Used(i record.Instance, now record.Usage) record.Usage {
	sum := record.Usage{Source: record.UsageReported}
	for of, u := range a.Spent {
		if of != i {
			sum = sum.Plus(u)
		}
	}
	sum = sum.Plus(now)
	sum.ID = ""
	return sum
}

// OfRun is the part of a usage of the team that the run has used.
func (a *Account) OfRun(u record.Usage) record.Usage { return u.Minus(a.From) }
