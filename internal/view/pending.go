package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"waggle"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/record"
)

// PendingPage has a row for each request.
func PendingPage(qs []decide.Question, now time.Time) (p Page) {
	t := Table{Head: []string{"ID", "MEMBER", "RISK", "AGE", "STATUS", "ASKS FOR"}, About: true}
	several := slices.ContainsFunc(qs, func(q decide.Question) bool { return q.Team != qs[0].Team })
	for _, q := range qs {
		status := statusWord(q)
		if q.Answer != nil {
			status = q.Answer.Decision + " by " + q.Answer.By
		}
		who := q.Member
		if several && q.Team != decide.SessionTeam {
			who = q.Team + "/" + who
		}
		t.Rows = append(t.Rows, []string{RequestID(q), who, q.Risk, Age(q.Asked, now), status, Asks(q)})
	}
	p.table(t)
	return p
}

// Limits of one entry of a list; longer ones are folded.
const (
	foldLines = 40
	foldBytes = 4096
)

// GroupPage has a row for each group, and below it the whole input, where that is more than a line.
// A request without similar ones is shown as itself.
func GroupPage(groups []decide.Group, now time.Time) (p Page) {
	t := Table{Head: []string{"ID", "MEMBER", "RISK", "N", "AGE", "STATUS", "ASKS FOR"}}
	several := slices.ContainsFunc(groups, func(g decide.Group) bool { return g.Team != groups[0].Team })
	for _, g := range groups {
		first := g.Questions[0]
		id, about, block, status := g.ID, g.Pattern, g.Text, decide.StatusOpen
		rest := Line{plain("the rest, and the id to answer it by: "), {Next: operator.Next{Step: operator.NextShowGroup, ID: RequestID(first)}}}
		if g.Count == 1 {
			id, status = RequestID(first), statusWord(first)
			rest = Line{plain("the rest: "), {Next: operator.Next{Step: operator.NextShow, ID: id}}}
			about, block = single(first)
		}
		block, folded := fold(block)
		below := make([]Line, 0, len(block)+1)
		for _, l := range block {
			below = append(below, Line{plain(l)})
		}
		if folded {
			below = append(below, rest)
			if g.Count > 1 {
				id = "-"
			}
		}
		who := strings.Join(g.Members, ", ")
		if several && g.Team != decide.SessionTeam {
			who = g.Team + "/" + who
		}
		t.Below = append(t.Below, below)
		t.Rows = append(t.Rows, []string{id, who, g.Risk, strconv.Itoa(g.Count), Age(g.Oldest, now), status, about})
	}
	p.table(t)
	return p
}

// single returns what a list shows of one request: in its row, and below.
func single(q decide.Question) (about string, block []string) {
	if q.Command == "" {
		return Asks(q), nil
	}
	asks := q.Asks()
	if len(asks) == 1 {
		return q.Tool + " " + asks[0], nil
	}
	for _, l := range asks {
		block = append(block, "| "+l)
	}
	return q.Tool + ", " + Count(len(asks), "line") + ":", block
}

// fold keeps the first lines of a text that is too long for a list.
func fold(lines []string) (part []string, folded bool) {
	size := 0
	for i, l := range lines {
		if size += len(l); i == foldLines || size > foldBytes {
			return lines[:i], true
		}
	}
	return lines, false
}

// RequestID is what a person types for a request. Sessions choose no id: they are typed by
// their handle.
func RequestID(q decide.Question) string {
	if q.Team == decide.SessionTeam {
		return q.Handle
	}
	return q.ID
}

// statusWord is a request's status as a list shows it.
func statusWord(q decide.Question) string {
	if q.File != "" {
		return q.Status + ", by file"
	}
	if q.Asker != "" {
		return q.Status + ", asker dead"
	}
	return q.Status
}

// Asks describes a request in one line.
func Asks(q decide.Question) string {
	switch {
	case len(q.Questions) > 0:
		return "question: " + q.Questions[0].Text
	case q.Plan != "":
		first, _, _ := strings.Cut(q.Plan, "\n")
		return fmt.Sprintf("plan, revision %d: %s", q.Revision, first)
	case q.Host != "":
		return "network to " + decide.ShownHost(q.Host, q.Port)
	}
	return decide.Describe(waggle.Kind(q.Kind), record.Ask{Tool: q.Tool, Input: string(q.Input)})
}

// PlanPage has a row for each plan.
func PlanPage(qs []decide.Question, now time.Time) (p Page) {
	t := Table{Head: []string{"ID", "MEMBER", "TASK", "REV", "SHA256", "AGE", "STATUS", "PLAN"}, About: true}
	for _, q := range qs {
		status := q.Status
		if q.Answer != nil {
			status = q.Answer.Decision + " by " + q.Answer.By
		}
		first, _, _ := strings.Cut(q.Plan, "\n")
		t.Rows = append(t.Rows, []string{q.ID, q.Member, q.Task, strconv.Itoa(q.Revision), q.Hash[:12], Age(q.Asked, now), status, first})
	}
	p.table(t)
	return p
}
