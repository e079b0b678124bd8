package view

import (
	"fmt"
	"slices"
	"time"

	"waggle"
	"waggle/operator"
	"waggle/operator/inspect"
)

// DigestPage shows the events of each kind, and the next steps.
func DigestPage(d *inspect.Digest, now time.Time) (p Page) {
	p.line(strong(d.Team), plain("  "+d.State+", since "+Clock(d.Since, now)+" ("+d.SinceWhy+")"))
	if d.State == "interrupted" {
		p.line(step(operator.Next{Step: operator.NextResumeTeam, Team: waggle.TeamName(d.Team)}))
	}
	before := len(p)
	var rows [][]string
	for _, w := range d.Waiting {
		asker := ""
		if w.Asker != "" {
			asker = "asker dead"
		}
		rows = append(rows, []string{w.ID, w.Member, w.Risk, Age(w.Asked, now), w.Asks, asker})
	}
	p.part("Waits for you", operator.NextPendingList.With(), rows)
	rows = nil
	for _, r := range d.Results {
		rows = append(rows, []string{moment(r.At, now), r.Outcome, r.Member, fmt.Sprintf("task %s %q", r.Task, r.Subject), r.Note})
	}
	p.part("Results", lastNext(d.Results, func(r inspect.DigestResult) operator.Next { return r.Do }), rows)
	p.happened("Members", d.Members, now)
	p.happened("Not well now", d.Trouble, now)
	p.decided("Decided without you", d.Decisions, now)
	p.decided("Refused by rules", d.Calls.Denied, now)
	rows = nil
	for _, m := range d.Messages {
		at, _ := waggle.ParseTime(m.Timestamp)
		rows = append(rows, []string{moment(at, now), m.From, m.Text})
	}
	p.part("Messages", operator.NextInboxRead.With(), rows)
	rows = nil
	for _, m := range d.Sent {
		rows = append(rows, []string{moment(m.At, now), m.From, "to " + m.To, m.Text})
	}
	p.part("Sent", operator.NextMessages.With(), rows)
	switch {
	case d.Calls.Allowed > 0:
		p.line()
		p.line(Span{Role: Faint, Text: Count(d.Calls.Allowed, "call") + " allowed by rules; ", Next: operator.NextAudit.With(), Scoped: true})
	case len(p) == before:
		p.line(plain("nothing happened"))
	}
	return p
}

// part is rows under a title, after an empty line; nothing without rows.
func (p *Page) part(title string, next operator.Next, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	p.line()
	head := Line{strong(title)}
	if next.Step != "" {
		head = append(head, plain("  "), step(next))
	}
	p.line(head...)
	p.table(Table{Rows: rows, Bare: true})
}

func (p *Page) happened(title string, ms []inspect.DigestMember, now time.Time) {
	var rows [][]string
	for _, m := range ms {
		rows = append(rows, []string{moment(m.At, now), m.Member, m.What, m.Detail})
	}
	p.part(title, lastNext(ms, func(m inspect.DigestMember) operator.Next { return m.Do }), rows)
}

func (p *Page) decided(title string, ns []inspect.DigestDecision, now time.Time) {
	var rows [][]string
	for _, n := range ns {
		why := n.Rule
		if why == "" {
			why = n.Reason
		}
		by := n.By
		if n.Via != "" && n.Via != n.By {
			by += " (" + n.Via + ")"
		}
		rows = append(rows, []string{moment(n.At, now), n.Decision + " by " + by, n.Member, n.Asks, why})
	}
	p.part(title, lastNext(ns, func(n inspect.DigestDecision) operator.Next { return n.Do }), rows)
}

// moment is Clock, "" for no time.
func moment(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	return Clock(t, now)
}

// lastNext is the step of the last item that has one.
func lastNext[T any](items []T, next func(T) operator.Next) operator.Next {
	for _, i := range slices.Backward(items) {
		if n := next(i); n.Step != "" {
			return n
		}
	}
	return operator.Next{}
}
