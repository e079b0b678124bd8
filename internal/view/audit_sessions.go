package view

import (
	"time"

	"waggle/operator"
)

// AuditOfSessions is the document of what sessions asked since a time.
func AuditOfSessions(es []operator.AuditEvent, since time.Time) SessionDigest {
	return SessionDigest{events(es), stamp(since)}
}

// SessionsDigestPage says what sessions asked, and who answered.
func SessionsDigestPage(es []operator.AuditEvent, now time.Time) (p Page) {
	p.line(strong("Sessions"), plain("  "), wholeStep(operator.NextAuditSessions.With()))
	t := Table{Bare: true}
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
		t.Rows = append(t.Rows, []string{moment(e.Asked, now), e.Member, word, askedFor(e)})
	}
	p.table(t)
	return p
}
