package view_test

import (
	"testing"
	"time"

	"waggle/internal/face/view"
	"waggle/operator/inspect"
	"waggle/record"
)

// TestBudgets: a list of budgets has what was raised of each; a status has its budgets without that, and who stopped the work.
func TestBudgets(t *testing.T) {
	used := record.Usage{Input: 100, CostMicros: 900_000, Turns: 2, Source: record.UsageReported}
	all := []inspect.Budget{
		{Scope: record.ScopeTeam, BudgetLimit: inspect.BudgetLimit{CostMicros: 3e6, Tokens: 500}, BudgetRaise: inspect.BudgetRaise{CostMicros: 1e6}, Set: record.Limit{CostMicros: 2e6, Tokens: 500}, Used: used},
		{Scope: record.ScopeMember, Member: "ann", BudgetLimit: inspect.BudgetLimit{Turns: 9}, BudgetRaise: inspect.BudgetRaise{Turns: 6}, Set: record.Limit{Turns: 3}},
		{Scope: record.ScopeBrake, Set: record.Limit{CostMicros: 2e7}},
	}
	golden(t, "budgets", view.BudgetsDocument{Team: "api", Budgets: all})
	samePage(t, "budgets", view.BudgetsPage(all))
	st := status()
	st.Budgets = []inspect.Budget{{Scope: record.ScopeRun, BudgetLimit: inspect.BudgetLimit{Tokens: 500}, Used: used}}
	st.Members[0].Budget = &inspect.Budget{Scope: record.ScopeMember, BudgetLimit: inspect.BudgetLimit{Turns: 9}}
	st.Halt = &inspect.Halt{At: at(9), Reason: "enough"}
	st.Leader.Slept, st.Leader.SleptAt = 90*time.Second, at(8)
	golden(t, "status_budgets", view.Status(st))
	samePage(t, "status_budgets", view.StatusPage(now, true, st))
}
