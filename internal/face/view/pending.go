package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"waggle/internal/face/view/page"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/protocol"
	"waggle/record"
)

// PendingPage has a row for each request. several adds the column of teams, which is there too when
// the requests are of several.
func PendingPage(qs []decide.Request, several bool, now time.Time) (p page.Page) {
	t := page.Table{Head: []string{"ID", "TEAM", "MEMBER", "RISK", "AGE", "STATUS", "ASKS FOR"}, About: true}
	several = several || slices.ContainsFunc(qs, func(q decide.Request) bool { return q.Team != qs[0].Team })
	for _, q := range qs {
		status := statusWord(q)
		if q.Answer != nil {
			status = q.Answer.Decision + " by " + q.Answer.By
		}
		t.Rows = append(t.Rows, []string{RequestID(q), q.Team, q.Member, q.Risk, page.Age(q.Asked.Time, now), status, Asks(q)})
	}
	p.Table(t.WithTeam(several))
	return p
}

// Limits of one entry of a list; longer ones are folded.
const (
	foldLines = 40
	foldBytes = 4096
)

// GroupPage has a row for each group, and below it the whole input, where that is more than a line.
// A request without similar ones is shown as itself. several is as for PendingPage.
func GroupPage(groups []decide.Group, several bool, now time.Time) (p page.Page) {
	t := page.Table{Head: []string{"ID", "TEAM", "MEMBER", "RISK", "N", "AGE", "STATUS", "ASKS FOR"}}
	several = several || slices.ContainsFunc(groups, func(g decide.Group) bool { return g.Team != groups[0].Team })
	for _, g := range groups {
		first := g.Requests[0]
		id, about, block, status := g.ID, g.Pattern, g.Text, decide.StatusOpen
		rest := page.Line{page.Plain("the rest, and the id to answer it by: "), {Next: operator.Next{Step: operator.NextShowGroup, ID: RequestID(first)}}}
		if g.Count == 1 {
			id, status = RequestID(first), statusWord(first)
			rest = page.Line{page.Plain("the rest: "), {Next: operator.Next{Step: operator.NextShow, ID: id}}}
			about, block = single(first)
		}
		block, folded := fold(block)
		below := make([]page.Line, 0, len(block)+1)
		for _, l := range block {
			below = append(below, page.Line{page.Plain(l)})
		}
		if folded {
			below = append(below, rest)
			if g.Count > 1 {
				id = "-"
			}
		}
		t.Below = append(t.Below, below)
		t.Rows = append(t.Rows, []string{id, g.Team, strings.Join(g.Members, ", "), g.Risk, strconv.Itoa(g.Count), page.Age(g.Oldest.Time, now), status, about})
	}
	p.Table(t.WithTeam(several))
	return p
}

// single returns what a list shows of one request: in its row, and below.
func single(q decide.Request) (about string, block []string) {
	asks := q.Asks()
	switch {
	case len(q.Questions) > 0:
		for _, l := range asks {
			block = append(block, "| "+l)
		}
		return Asks(q), block
	case q.Kind == decide.KindProposal && len(asks) > 2: // one line of a task is in the row
		for _, l := range asks[1:] {
			block = append(block, "| "+l)
		}
		return Asks(q), block
	case q.Command == "" && editedWhole(q):
		for l := range strings.SplitSeq(q.Edits(), "\n") {
			block = append(block, "| "+operator.Visible(l))
		}
		return q.Tool + " " + operator.Visible(q.Edited()), block
	case q.Command == "":
		return Asks(q), nil
	}
	if len(asks) == 1 {
		return q.Tool + " " + asks[0], nil
	}
	for _, l := range asks {
		block = append(block, "| "+l)
	}
	return q.Tool + ", " + page.Count(len(asks), "line") + ":", block
}

// editedWhole reports that a file and its changed lines are all of a request's input.
func editedWhole(q decide.Request) bool {
	return q.Edited() != "" && q.Edits() != "" && FurtherInput(q) == ""
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

// RequestID is what a person types for a request: its handle, which no asker chooses. For a dialog it is
// "-": nothing is typed here.
func RequestID(q decide.Request) string {
	switch {
	case q.Handle != "":
		return q.Handle
	case q.Kind == decide.KindDialog:
		return "-"
	}
	return q.ID
}

// statusWord is a request's status as a list shows it.
func statusWord(q decide.Request) string {
	if q.File != "" {
		return q.Status + ", by file"
	}
	if q.Asker != "" {
		return q.Status + ", asker dead"
	}
	if q.LeadOut != "" {
		return q.Status + ", " + q.LeadOut
	}
	return q.Status
}

// Asks describes a request in one line.
func Asks(q decide.Request) string {
	switch {
	case q.Kind == decide.KindDialog:
		return q.Reason
	case q.Kind == decide.KindProposal:
		return "proposal  " + q.Proposed().Line()
	case len(q.Questions) > 0:
		text, _, _ := strings.Cut(q.Questions[0].Text, "\n")
		if n := len(q.Questions); n > 1 {
			return fmt.Sprintf("%d questions: %s", n, text)
		}
		return "question: " + text
	case q.Plan != "":
		first, _, _ := strings.Cut(q.Plan, "\n")
		return fmt.Sprintf("plan, revision %d: %s", q.Revision, first)
	case q.Host != "":
		return "network to " + decide.ShownHost(q.Host, q.Port)
	}
	return decide.Describe(protocol.Kind(q.Kind), record.Ask{Tool: q.Tool, Input: string(q.Input)})
}

// Opens says in a few words what a member asks, and by which handle it is answered.
func Opens(q decide.Request) string {
	return fmt.Sprintf("asks %s: %s (%s)", q.Handle, decide.Gist(protocol.Kind(q.Kind), askOf(q)), q.Risk)
}

// PlanPage has a row for each plan.
func PlanPage(qs []decide.Request, now time.Time) (p page.Page) {
	t := page.Table{Head: []string{"ID", "MEMBER", "TASK", "REV", "SHA256", "AGE", "STATUS", "PLAN"}, About: true}
	for _, q := range qs {
		status := q.Status
		if q.Answer != nil {
			status = q.Answer.Decision + " by " + q.Answer.By
		}
		first, _, _ := strings.Cut(q.Plan, "\n")
		t.Rows = append(t.Rows, []string{RequestID(q), q.Member, q.Task, strconv.Itoa(q.Revision), q.Hash[:12], page.Age(q.Asked.Time, now), status, first})
	}
	p.Rows(t)
	return p
}

// PendingList is the document of `pending` (commands §4).
type PendingList struct {
	Groups  []decide.Group       `json:"groups"`
	Pending []decide.PendingItem `json:"pending"`
}

// Pending is the document of requests, with the groups of the open ones.
func Pending(qs []decide.Request) (l PendingList) {
	var open []decide.Request
	for _, q := range qs {
		l.Pending = append(l.Pending, q.PendingItem)
		if q.Answer == nil && q.Status != decide.StatusClosed {
			open = append(open, q)
		}
	}
	l.Groups = decide.Groups(open)
	return l
}
