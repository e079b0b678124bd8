package view

import (
	"strings"

	"waggle"
	"waggle/control"
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

// InboxPage has messages and then news. It is empty where there are none.
func InboxPage(in *mail.Inbox) (p Page) {
	for _, e := range in.Entries {
		p = append(p, EntryPage(e)...)
	}
	return append(p, NewsPage(in.News)...)
}

// EntryPage shows one message.
func EntryPage(e mail.InboxEntry) (p Page) {
	mark := "● "
	if e.Read {
		mark = "  "
	}
	head := Line{plain(mark), {Role: Strong, Text: e.From, Color: e.Color}, plain(" "), faint(e.Timestamp)}
	if e.Kind != string(waggle.KindText) {
		head = append(head, plain(" "), warning(e.Kind))
	}
	p.line(head...)
	for _, l := range strings.Split(e.Text, "\n") {
		p.line(plain("  " + l))
	}
	for _, w := range e.Warnings {
		p.line(plain("  "), warning("!"), plain(" "+w))
	}
	return p
}

// NewsPage shows events of the members, for the lead.
func NewsPage(news []control.News) (p Page) {
	for _, n := range news {
		who := string(n.Member)
		if who == "" {
			who = "everybody"
		}
		line := Line{plain("* "), strong(who), plain(" "), faint(stamp(n.Time)), plain(" "), warning(string(n.What))}
		if n.Task != "" {
			line = append(line, plain(" task "+n.Task))
		}
		if n.Note != "" {
			line = append(line, plain(": "+n.Note))
		}
		p.line(line...)
	}
	return p
}
