package view

import (
	"fmt"
	"time"

	"waggle/internal/face/view/page"
	"waggle/operator/mail"
)

// SaidDocument has the messages to sessions, which are in no team.
type SaidDocument struct {
	Messages []mail.StoredMessage `json:"messages"` // of a team: none
	Said     []mail.SaidMessage   `json:"said"`
}

// SaidPage shows the state of messages to sessions.
func SaidPage(said []mail.SaidMessage, now time.Time) (p page.Page) {
	for _, s := range said {
		p.Line(page.Strong(s.MsgID), page.Plain(fmt.Sprintf(" to session %s (%s)", s.Session, s.Socket)))
		p.Line(page.Plain(fmt.Sprintf("  from %s, %d bytes, sha256 %s", s.From, s.Bytes, s.SHA256)))
		p.Line(page.Plain("  "), page.Faint(page.When(s.At, now)), page.Plain("  "), page.Good(string(s.State)), page.Plain("  "+s.Detail))
	}
	return p
}
