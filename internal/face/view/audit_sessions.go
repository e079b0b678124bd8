package view

import (
	"time"

	"waggle/internal/face/view/page"
	"waggle/operator"
)

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
