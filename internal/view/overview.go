package view

import (
	"fmt"
	"slices"
	"time"

	"waggle"
	"waggle/internal/view/page"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/operator/process"
	"waggle/record"
)

// Overview is what a person sees first: what waits for them, what runs, what failed, what has ended
// lately, and what is kept.
type Overview struct {
	Waiting []decide.Request
	Teams   []*inspect.Status
	Ended   []inspect.EndedTeam
	Kept    []process.Kept
}

// OverviewPage shows an overview. It is empty where there is nothing of it.
func OverviewPage(v Overview, now time.Time, spell page.Spell) (p page.Page) {
	for _, st := range v.Teams {
		if notice(st) != "" || st.Interrupted != nil || st.Leader.Foreign {
			addTeamHead(&p, st, now)
		}
	}
	var rows [][]string
	for _, q := range v.Waiting {
		rows = append(rows, []string{RequestID(q), q.Team, q.Member, q.Risk, page.Age(q.Asked, now), mark(q) + decide.Question(waggle.Kind(q.Kind), askOf(q))})
	}
	addSection(&p, "Waits for you", operator.NextPendingList.With(), rows)
	var works, failed, refused [][]string
	var again operator.Next
	for _, st := range v.Teams {
		for _, m := range st.Members {
			if r := m.Refused; r != nil {
				refused = append(refused, []string{st.Team, m.Name, page.Age(r.At, now), spell.Sentence(operator.Visible(r.Why), mergeAgain(st.Team, m))})
			}
			if m.Resolved {
				refused = append(refused, []string{st.Team, m.Name, page.Since(m.Since, now), spell.Sentence(resolved, mergeAgain(st.Team, m))})
			}
			row := []string{st.Team, m.Name, string(m.State), page.Since(m.Since, now), page.Local(m.Why, now)}
			if slices.Contains(broken, m.State) {
				failed = append(failed, row)
				if m.Stays && st.Interrupted == nil && again.Step == "" {
					again = resumeOf(st)
				}
			} else {
				works = append(works, row)
			}
		}
		if len(st.Members) == 0 {
			works = append(works, []string{st.Team, "no members"})
		}
	}
	addSection(&p, "Not merged", operator.Next{}, refused)
	addSection(&p, "Runs", operator.NextStatusAll.With(), works)
	addSection(&p, "Failed", again, failed)
	rows = nil
	for _, e := range v.Ended {
		left := 0
		for _, k := range v.Kept {
			if k.ID != "" && k.ID == e.ID {
				left++
			}
		}
		row := []string{e.Team, page.When(e.At, now), endedHow(e.How)}
		if left > 0 {
			row = append(row, fmt.Sprintf("left %d with work", left))
		}
		rows = append(rows, row)
	}
	addSection(&p, "Ended lately", operator.NextDigestOf.With(), rows)
	rows = nil
	for _, k := range v.Kept {
		of := k.Team
		if k.Member != "" {
			of = k.Member + "@" + k.Team
		}
		rows = append(rows, []string{k.Kind, of, spell.Sentence(k.Why, k.Do)})
	}
	addSection(&p, "Kept", operator.NextListKept.With(), rows)
	before := len(p)
	for _, st := range v.Teams {
		addMail(&p, st, len(v.Teams) > 1)
	}
	if before > 0 && len(p) > before {
		p = slices.Insert(p, before, page.Block{})
	}
	return p
}

// broken are the states of members that do not go on by themselves.
var broken = []inspect.MemberState{inspect.StateFailed, inspect.StateHeldUp, inspect.StateBlocked, inspect.StateDead, inspect.StateStalled, inspect.StateUnknown}

func askOf(q decide.Request) record.Ask {
	return record.Ask{Tool: q.Tool, Input: string(q.Input), Host: q.Host, Port: q.Port, Plan: q.Plan, Revision: q.Revision}
}

// mark is the status of a request where it is not simply open, before the question: a long one is cut.
func mark(q decide.Request) string {
	if s := statusWord(q); s != decide.StatusOpen {
		return "(" + s + ") "
	}
	return ""
}

// section is part without an empty line before the first.
func addSection(p *page.Page, title string, next operator.Next, rows [][]string) {
	before := len(*p)
	addPart(p, title, next, rows)
	if before == 0 && len(*p) > 0 {
		*p = (*p)[1:]
	}
}
