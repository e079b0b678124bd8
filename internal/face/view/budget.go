package view

import (
	"cmp"
	"fmt"

	"waggle/internal/face/view/page"
	"waggle/internal/face/view/sentence"
	"waggle/operator/inspect"
	"waggle/record"
)

// BudgetsDocument lists the budgets of a team (`budget`).
type BudgetsDocument struct {
	Team    string           `json:"team"`
	Budgets []inspect.Budget `json:"budgets"`
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
		t.Rows = append(t.Rows, []string{name, record.Limit(b.BudgetLimit).String(), b.Set.String(), sentence.Spent(b.Used)})
	}
	p.Rows(t)
	return p
}

func budgetText(b inspect.Budget) string {
	whose := map[record.BudgetScope]string{record.ScopeMember: "its", record.ScopeTeam: "the team's", record.ScopeRun: "the run's"}[b.Scope]
	return fmt.Sprintf("%s budget is %s; used: %s", whose, record.Limit(b.BudgetLimit), sentence.Spent(b.Used))
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
