package view

import (
	"strings"
	"time"

	"waggle"
	"waggle/control"
	"waggle/internal/view/page"
	"waggle/internal/view/sentence"
	"waggle/operator/mail"
)

// InboxDocument is one member's messages.
type InboxDocument struct {
	Team    string          `json:"team"`
	Member  string          `json:"member"`
	Entries []EntryDocument `json:"entries"`
	News    []control.News  `json:"news,omitempty"`
}

// EntryDocument is one message.
type EntryDocument struct {
	Index     int      `json:"index"`
	From      string   `json:"from"`
	Timestamp string   `json:"timestamp"` // as the message says
	Read      bool     `json:"read"`
	Kind      string   `json:"kind"`
	Text      string   `json:"text"`
	Payload   any      `json:"payload"`
	Summary   string   `json:"summary"`
	Color     string   `json:"color"`
	MsgID     string   `json:"msg_id"`
	Warnings  []string `json:"warnings"`
	ID        string   `json:"id"`      // identity: hash and occurrence
	Archive   string   `json:"archive"` // the file in the archive it is in; "" for one in the mailbox
}

// NewsDocument is one wake-up of the lead's session.
type NewsDocument struct {
	News []control.News `json:"news"`
}

// AddressDocument is the address at which a member takes messages.
type AddressDocument struct {
	Address string `json:"address"`
	Member  string `json:"member"`
	Team    string `json:"team"`
}

// Inbox is the document of a member's messages.
func Inbox(in *mail.Inbox) InboxDocument {
	return InboxDocument{in.Team, in.Member, Entries(in.Entries), in.News}
}

// Entries are the documents of messages.
func Entries(es []mail.InboxEntry) []EntryDocument {
	out := make([]EntryDocument, 0, len(es))
	for _, e := range es {
		out = append(out, Entry(e))
	}
	return out
}

// Entry is the document of one message.
func Entry(e mail.InboxEntry) EntryDocument {
	return EntryDocument{e.Index, e.From, e.Timestamp, e.Read, e.Kind, e.Text, e.Payload, e.Summary, e.Color, e.MsgID, list(e.Warnings), e.ID, e.Archive}
}

// InboxList is the document of the messages in several teams.
type InboxList struct {
	Inboxes []InboxDocument `json:"inboxes"`
}

// TeamInboxPage is InboxPage below the name of the team, of several; empty where there is nothing.
func TeamInboxPage(in *mail.Inbox, raw bool, now time.Time) (p page.Page) {
	rest := InboxPage(in, raw, now)
	if len(rest) > 0 {
		p.Line(page.Strong(in.Team))
	}
	return append(p, rest...)
}

// InboxPage has messages and then news, a sentence each; raw shows the text of messages as it is. It
// is empty where there are none.
func InboxPage(in *mail.Inbox, raw bool, now time.Time) (p page.Page) {
	for _, e := range in.Entries {
		p = append(p, EntryPage(e, raw, now)...)
	}
	return append(p, NewsPage(in.News, now)...)
}

// EntryPage shows one message: its sender, its time and, in words, its content.
func EntryPage(e mail.InboxEntry, raw bool, now time.Time) (p page.Page) {
	mark := "● "
	if e.Read {
		mark = "  "
	}
	at := e.Timestamp
	if !raw {
		at = timeSaid(at, now)
	}
	head := page.Line{page.Plain(mark), {Role: page.RoleStrong, Text: e.From, Color: e.Color}, page.Plain(" "), page.Faint(at)}
	said := ""
	if !raw {
		said = sentence.OfMessage(e.Payload)
	}
	if e.Kind != string(waggle.KindText) {
		head = append(head, page.Plain(" "), page.Warning(e.Kind))
	}
	if said != "" {
		head = append(head, page.Plain(" "+said))
	}
	p.Line(head...)
	if said == "" {
		for _, l := range strings.Split(e.Text, "\n") {
			p.Line(page.Plain("  " + l))
		}
	}
	for _, w := range e.Warnings {
		p.Line(page.Plain("  "), page.Warning("!"), page.Plain(" "+w))
	}
	return p
}

// NewsPage shows events of the members, for the lead.
func NewsPage(news []control.News, now time.Time) (p page.Page) {
	for _, n := range news {
		who := string(n.Member)
		if who == "" {
			who = "everybody"
		}
		line := page.Line{page.Plain("* "), page.Strong(who), page.Plain(" "), page.Faint(page.When(n.Time, now)), page.Plain(" "), page.Warning(string(n.What))}
		if n.Task != "" {
			line = append(line, page.Plain(" task "+n.Task))
		}
		if n.Note != "" {
			line = append(line, page.Plain(": "+n.Note))
		}
		p.Line(line...)
	}
	return p
}
