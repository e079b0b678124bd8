package view

import (
	"cmp"
	"fmt"
	"time"

	"waggle/internal/face/view/page"
	"waggle/operator"
	"waggle/operator/inspect"
	"waggle/protocol"
)

// RecapDocument is a recap with the time since when it is, which the zero time is too: nothing was recorded.
type RecapDocument struct {
	Team  string `json:"team"`
	Since string `json:"since"`
	*inspect.Recap
}

// Recap is the document of a recap.
func Recap(d *inspect.Recap) RecapDocument {
	return RecapDocument{d.Team, protocol.FormatTime(d.Since), d}
}

// RecapPage shows the events of each kind, and the next steps. Of several teams each row names its
// team first.
func RecapPage(now time.Time, ds ...*inspect.Recap) (p page.Page) {
	g := recaps{now: now, several: len(ds) > 1}
	for _, d := range ds {
		p.Line(page.Strong(d.Team), page.Plain("  "+d.State+", since "+page.Clock(d.Since, now)+" ("+d.SinceWhy+")"))
		if d.State == "interrupted" {
			p.Line(page.Step(operator.Next{Step: operator.NextResumeTeam, Team: protocol.TeamName(d.Team)}))
		}
		g.add(d)
	}
	before := len(p)
	addPart(&p, "Waits for you", operator.NextPendingList.With(), g.waiting)
	addPart(&p, "Results", g.resultsDo, g.results)
	addPart(&p, "Members", g.membersDo, g.members)
	addPart(&p, "Not well now", g.troubleDo, g.trouble)
	addPart(&p, "Decided without you", g.decisionsDo, g.decisions)
	addPart(&p, "Refused by rules", g.deniedDo, g.denied)
	addPart(&p, "Messages", operator.NextInboxRead.With(), g.messages)
	addPart(&p, "Sent", operator.NextMessages.With(), g.sent)
	switch {
	case g.allowed > 0:
		p.Line()
		p.Line(page.Span{Role: page.RoleFaint, Text: page.Count(g.allowed, "call") + " allowed by rules; ", Next: operator.NextAudit.With(), Scoped: true})
	case len(p) == before:
		p.Line(page.Plain("nothing happened"))
	}
	return p
}

// recaps are the rows of the recaps of one or several teams, by part, and the next step of each part.
type recaps struct {
	now                                                                   time.Time
	several                                                               bool
	waiting, results, members, trouble, decisions, denied, messages, sent [][]string
	resultsDo, membersDo, troubleDo, decisionsDo, deniedDo                operator.Next
	allowed                                                               int
}

func (g *recaps) add(d *inspect.Recap) {
	put := func(rows *[][]string, row ...string) {
		if g.several {
			row = append([]string{d.Team}, row...)
		}
		*rows = append(*rows, row)
	}
	do := func(into *operator.Next, next operator.Next) {
		if next.Step != "" {
			if *into = next; g.several {
				into.Team = protocol.TeamName(d.Team)
			}
		}
	}
	for _, w := range d.Waiting {
		asker := ""
		if w.Asker != "" {
			asker = "asker dead"
		}
		put(&g.waiting, w.Handle, w.Member, w.Risk, page.Age(w.Asked.Time, g.now), w.Asks, asker)
	}
	for _, r := range d.Results {
		put(&g.results, page.Moment(r.At, g.now), r.Outcome, r.Member, fmt.Sprintf("task %s %q", r.Task, r.Subject), r.Note)
		do(&g.resultsDo, r.Do)
	}
	for _, m := range d.Members {
		put(&g.members, page.Moment(m.At, g.now), m.Member, m.What, m.Detail)
		do(&g.membersDo, m.Do)
	}
	for _, m := range d.Trouble {
		put(&g.trouble, page.Moment(m.At, g.now), m.Member, m.What, m.Detail)
		do(&g.troubleDo, m.Do)
	}
	for _, n := range d.Decisions {
		put(&g.decisions, decidedRow(n, g.now)...)
		do(&g.decisionsDo, n.Do)
	}
	for _, n := range d.Calls.Denied {
		put(&g.denied, decidedRow(n, g.now)...)
		do(&g.deniedDo, n.Do)
	}
	for _, m := range d.Messages {
		at, _ := protocol.ParseTime(m.Timestamp)
		put(&g.messages, page.Moment(at, g.now), m.From, m.Text)
	}
	for _, m := range d.Sent {
		put(&g.sent, page.Moment(m.At, g.now), m.From, "to "+m.To, m.Text)
	}
	g.allowed += d.Calls.Allowed
}

// decidedRow is an answer that the operator did not give.
func decidedRow(n inspect.RecapDecision, now time.Time) []string {
	by := n.By
	if n.Via != "" && n.Via != n.By {
		by += " (" + n.Via + ")"
	}
	return []string{page.Moment(n.At, now), n.Decision + " by " + by, n.Member, n.Asks, cmp.Or(n.Rule, n.Reason)}
}

// part is rows under a title, after an empty line; nothing without rows.
func addPart(p *page.Page, title string, next operator.Next, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	p.Line()
	head := page.Line{page.Strong(title)}
	if next.Step != "" {
		head = append(head, page.Plain("  "), page.Step(next))
	}
	p.Line(head...)
	p.Table(page.Table{Rows: rows, Bare: true})
}
