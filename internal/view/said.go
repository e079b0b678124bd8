package view

import (
	"fmt"
	"time"

	"waggle/internal/view/page"
	"waggle/operator/mail"
)

// SaidDocument has the messages to sessions, which are in no team.
type SaidDocument struct {
	Messages []MessageDocument     `json:"messages"` // of a team: none
	Said     []SaidMessageDocument `json:"said"`
}

// SaidMessageDocument is the state of a message to a session.
type SaidMessageDocument struct {
	MsgID   string `json:"msg_id"`
	Session string `json:"session"`
	From    string `json:"from"`
	Socket  string `json:"socket"`
	State   string `json:"state"` // queued, written, failed
	Detail  string `json:"detail"`
	At      string `json:"at"`
	SHA256  string `json:"sha256"` // of the text, which is not kept
	Bytes   int    `json:"bytes"`
}

// Said is the document of messages to sessions.
func Said(said []mail.SaidMessage) SaidDocument {
	d := SaidDocument{[]MessageDocument{}, make([]SaidMessageDocument, 0, len(said))}
	for _, s := range said {
		d.Said = append(d.Said, SaidMessageDocument{s.MsgID, string(s.Session), s.From, s.Socket, string(s.State), s.Detail, page.Stamp(s.At), s.SHA256, s.Bytes})
	}
	return d
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
