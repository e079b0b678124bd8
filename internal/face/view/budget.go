package view

import (
	"cmp"
	"fmt"

	"waggle/internal/face/view/page"
	"waggle/internal/face/view/sentence"
	"waggle/operator/inspect"
	"waggle/record"
)

// BudgetDocument is a budget as it holds now, and what was used of it. A limit of 0 is none.
type BudgetDocument struct {
	Scope        string       `json:"scope"` // team, run, member or brake
	Member       string       `json:"member,omitempty"`
	LimitMicros  int64        `json:"limit_usd_micros"`
	LimitTokens  int64        `json:"limit_tokens"`
	LimitTurns   int64        `json:"limit_turns"`
	Used         record.Usage `json:"used"`
	RaisedMicros int64        `json:"raised_usd_micros,omitempty"` // above what was set
	RaisedTokens int64        `json:"raised_tokens,omitempty"`
	RaisedTurns  int64        `json:"raised_turns,omitempty"`
}

// BudgetsDocument lists the budgets of a team (`budget`).
type BudgetsDocument struct {
	Team    string           `json:"team"`
	Budgets []BudgetDocument `json:"budgets"`
}

func budgetOf(b inspect.Budget) BudgetDocument {
	return BudgetDocument{Scope: string(b.Scope), Member: b.Member, LimitMicros: b.Limit.CostMicros, LimitTokens: b.Limit.Tokens, LimitTurns: b.Limit.Turns, Used: b.Used}
}

// Budgets is the document of the budgets of a team.
func Budgets(team string, all []inspect.Budget) BudgetsDocument {
	d := BudgetsDocument{Team: team, Budgets: []BudgetDocument{}}
	for _, b := range all {
		one := budgetOf(b)
		if b.Limit.Set() { // a brake that was allowed has no limit any more
			one.RaisedMicros, one.RaisedTokens, one.RaisedTurns = b.Limit.CostMicros-b.Set.CostMicros, b.Limit.Tokens-b.Set.Tokens, b.Limit.Turns-b.Set.Turns
		}
		d.Budgets = append(d.Budgets, one)
	}
	return d
}

// BudgetsPage is the budgets of a team for people.
func BudgetsPage(all []inspect.Budget) (p page.Page) {
	if len(all) == 0 {
		p.Line(page.Plain("no budget"))
	}
	t := page.Table{Head: []string{"BUDGET", "LIMIT", "SET", "USED"}}
	for _, b := range all {
		name := cmp.Or(b.Member, string(b.Scope))
		t.Names = append(t.Names, name)
		t.Rows = append(t.Rows, []string{name, b.Limit.String(), b.Set.String(), sentence.Spent(b.Used)})
	}
	p.Rows(t)
	return p
}

func budgetText(b inspect.Budget) string {
	whose := map[record.BudgetScope]string{record.ScopeMember: "its", record.ScopeTeam: "the team's", record.ScopeRun: "the run's"}[b.Scope]
	return fmt.Sprintf("%s budget is %s; used: %s", whose, b.Limit, sentence.Spent(b.Used))
}

// Today is the document of what all teams have used today, nil when that is neither tokens nor dollars.
func Today(u record.Usage) *record.Usage {
	if u.Tokens() == 0 && u.CostMicros == 0 {
		return nil
	}
	return &u
}

// TodayPage says it to people.
func TodayPage(u record.Usage) (p page.Page) {
	if Today(u) != nil {
		p.Line(page.Plain("used today by all teams here: " + sentence.Spent(u)))
	}
	return p
}
