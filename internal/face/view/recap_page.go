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
	g := recaps{now: now, several: len(ds) > 1, waiting: part{title: "Waits for you", next: operator.NextPendingList.With()}, results: part{title: "Results"},
		members: part{title: "Members"}, trouble: part{title: "Not well now"}, decisions: part{title: "Decided without you"}, denied: part{title: "Refused by rules"},
		messages: part{title: "Messages", next: operator.NextInboxRead.With()}, sent: part{title: "Sent", next: operator.NextMessages.With()}}
	for _, d := range ds {
		p.Line(page.Strong(d.Team), page.Plain("  "+d.State+", since "+page.Clock(d.Since, now)+" ("+d.SinceWhy+")"))
		if d.State == "interrupted" {
			p.Line(page.Step(operator.Next{Step: operator.NextResumeTeam, Team: protocol.TeamName(d.Team)}))
		}
		g.add(d)
	}
	before := len(p)
	for _, s := range []part{g.waiting, g.results, g.members, g.trouble, g.decisions, g.denied, g.messages, g.sent} {
		addPart(&p, s)
	}
	switch {
	case g.allowed > 0:
		p.Line()
		p.Line(page.Span{Role: page.RoleFaint, Text: page.Count(g.allowed, "call") + " allowed by rules; ", Next: operator.NextAudit.With(), Scoped: true})
	case len(p) == before:
		p.Line(page.Plain("nothing happened"))
	}
	return p
}

// recaps are the parts of the recaps of one or several teams.
type recaps struct {
	now                                                                   time.Time
	several                                                               bool
	waiting, results, members, trouble, decisions, denied, messages, sent part
	allowed                                                               int
}

func (g *recaps) add(d *inspect.Recap) {
	put := func(s *part, do operator.Next, cells ...string) {
		if g.several {
			do.Team = protocol.TeamName(d.Team)
			cells = append([]string{d.Team}, cells...)
		}
		if s.rows = append(s.rows, cells); do.Step != "" {
			s.next = do
		}
	}
	none := operator.Next{}
	for _, w := range d.Waiting {
		asker := ""
		if w.Asker != "" {
			asker = "asker dead"
		}
		put(&g.waiting, none, w.Handle, w.Member, w.Risk, page.Age(w.Asked.Time, g.now), w.Asks, asker)
	}
	for _, r := range d.Results {
		put(&g.results, r.Do, page.Moment(r.At, g.now), r.Outcome, r.Member, fmt.Sprintf("task %s %q", r.Task, r.Subject), r.Note)
	}
	for _, m := range d.Members {
		put(&g.members, m.Do, page.Moment(m.At, g.now), m.Member, m.What, m.Detail)
	}
	for _, m := range d.Trouble {
		put(&g.trouble, m.Do, page.Moment(m.At, g.now), m.Member, m.What, m.Detail)
	}
	for _, n := range d.Decisions {
		put(&g.decisions, n.Do, decidedRow(n, g.now)...)
	}
	for _, n := range d.Calls.Denied {
		put(&g.denied, n.Do, decidedRow(n, g.now)...)
	}
	for _, m := range d.Messages {
		at, _ := protocol.ParseTime(m.Timestamp)
		put(&g.messages, none, page.Moment(at, g.now), m.From, m.Text)
	}
	for _, m := range d.Sent {
		put(&g.sent, none, page.Moment(m.At, g.now), m.From, "to "+m.To, m.Text)
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

// addPart adds rows under their title, after an empty line; nothing without rows.
func addPart(p *page.Page, s part) {
	if len(s.rows) == 0 {
		return
	}
	p.Line()
	head := page.Line{page.Strong(s.title)}
	if s.next.Step != "" {
		head = append(head, page.Plain("  "), page.Step(s.next))
	}
	p.Line(head...)
	p.Table(page.Table{Rows: s.rows, Bare: true})
}
