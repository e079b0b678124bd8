package view

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"waggle/internal/face/view/page"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/record"
)

// AuditList is the document of the calls of a team.
type AuditList struct {
	Events   []operator.AuditEvent `json:"events"`
	ID       string                `json:"id"`
	Team     string                `json:"team"`
	Problems []inspect.BadRecord   `json:"problems,omitempty"` // journals that cannot be read to their end
}

// Audit is the document of the calls of a team with an id. broken is the error of the journals that cannot be read.
func Audit(id, team string, es []operator.AuditEvent, broken error) AuditList {
	return AuditList{es, id, team, unread(broken)}
}

// SessionDigest is the document of the requests of sessions since a time.
type SessionDigest struct {
	Events []operator.AuditEvent `json:"events"`
	Since  time.Time             `json:"since"`
}

// AuditPage has a row for each call.
func AuditPage(es []operator.AuditEvent, now time.Time) (p page.Page) {
	t := page.Table{Head: []string{"ASKED", "ID", "MEMBER", "DECISION", "OUTCOME", "BY; FOR"}, About: true}
	for _, e := range es {
		t.Rows = append(t.Rows, []string{page.Moment(e.Asked, now), cmp.Or(e.Handle, e.ID), e.Member, e.Decision, e.Outcome, strings.TrimPrefix(decidedBy(e)+"; ", "; ") + askedFor(e)})
	}
	p.Rows(t)
	return p
}

func decidedBy(e operator.AuditEvent) string {
	switch {
	case e.Rule != "":
		return e.By + ": " + e.Rule
	case e.Via != "" && e.By != "":
		return e.By + " (" + e.Via + ")"
	}
	return e.By
}

// askedFor is what a call asks for in one line.
func askedFor(e operator.AuditEvent) string {
	return cmp.Or(e.Asks, strings.TrimSpace(e.Tool+" "+string(e.Input)))
}

// AuditShowPage is one call whole.
func AuditShowPage(d *inspect.AuditDetail, now time.Time) (p page.Page) {
	e := d.Event
	row := func(name, text string) {
		if text != "" {
			p.Text(page.Strong(fmt.Sprintf("%-8s", name)), page.Plain(" "+text))
		}
	}
	row("id", e.ID)
	row("handle", e.Handle)
	row("member", fmt.Sprintf("%s (%s), instance %s", e.Member, record.Level(e.Trust).Words(), e.Instance))
	row("asked", page.Moment(e.Asked, now)+" for "+strings.TrimSuffix(e.Kind, "_request"))
	row("tool", e.Tool)
	row("input", string(e.Input))
	row("cwd", e.Cwd)
	row("reason", e.Reason)
	row("risk", e.Risk)
	row("digest", e.Digest)
	if e.Decision != "" {
		row("decided", fmt.Sprintf("%s by %s, channel %s, via %s, policy version %d %s", e.Decision, e.By, e.Channel, e.Via, e.Version, page.Moment(e.Decided, now)))
	}
	row("rule", e.Rule)
	row("said", e.Said)
	for i, text := range e.Answers {
		row(fmt.Sprintf("answer %d", i+1), text)
	}
	row("runs", string(e.Runs))
	row("digest", e.RunsDigest)
	row("outcome", e.Outcome)
	p.Line(page.Strong("records"))
	for _, r := range d.Records {
		p.Line(page.Plain("  "), page.Faint(page.ClockSeconds(r.Time, now)), page.Plain(fmt.Sprintf(" %s %d ", r.Owner, r.Seq)), page.Strong(r.Kind))
		p.Text(page.Plain("    " + decide.ShownJSON(string(r.Body))))
	}
	return p
}

// SessionsRecapPage says what sessions asked, and who answered.
func SessionsRecapPage(es []operator.AuditEvent, now time.Time) (p page.Page) {
	p.Line(page.Strong("Sessions"), page.Plain("  "), page.WholeStep(operator.NextAuditSessions.With()))
	t := page.Table{Bare: true}
	for _, e := range es {
		word := e.Decision
		switch {
		case e.By == "session":
			word = "answered in its own dialog"
		case word == "" && e.Said != "":
			word = e.Said
		case word == "":
			word = "waits for you"
		default:
			word += " by " + e.By
		}
		t.Rows = append(t.Rows, []string{page.Moment(e.Asked, now), e.Member, word, askedFor(e)})
	}
	p.Table(t)
	return p
}
