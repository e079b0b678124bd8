package view

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"waggle/control"
	"waggle/internal/face/view/page"
	"waggle/internal/face/view/sentence"
	"waggle/internal/json/jsonobj"
	"waggle/operator/mail"
	"waggle/protocol"
	"waggle/record"
)

// InboxDocument is one member's messages.
type InboxDocument struct {
	Team    string            `json:"team"`
	Member  string            `json:"member"`
	Entries []mail.InboxEntry `json:"entries"`
	News    []json.RawMessage `json:"news,omitempty"`
}

// AddressDocument is the address at which a member takes messages.
type AddressDocument struct {
	Address string `json:"address"`
	Member  string `json:"member"`
	Team    string `json:"team"`
}

// News is the document of one wake-up of the lead's session.
func News(ns []control.News) any { return map[string]any{"news": wakes(ns)} }

// wakes are the events of a wake-up, with their times as the journals have them.
func wakes(ns []control.News) (all []json.RawMessage) {
	for _, n := range ns {
		raw, err := jsonobj.Marshal(n)
		if err != nil {
			panic(err) // a type of ours
		}
		all = append(all, raw)
	}
	return all
}

// Inbox is the document of a member's messages.
func Inbox(in *mail.Inbox) InboxDocument {
	return InboxDocument{in.Team, in.Member, in.Entries, wakes(in.News)}
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

// EntryPage shows one message: its sender, its time and, in words, its content with the handle of the request that it is
// about and what became of that. raw shows its kind and its text as it is.
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
		said = entrySaid(e)
	}
	switch {
	case said != "":
		head = append(head, page.Plain(" "+said))
		if became := became(e, now); became != "" {
			head = append(head, page.Plain(" "), page.Warning("("+became+")"))
		}
	case e.Kind == string(protocol.KindUnknown) && !raw:
		head = append(head, page.Plain(" sends a message of the "), page.Warning("unknown kind "+unknownType(e.Text)))
	case e.Kind != string(protocol.KindText):
		head = append(head, page.Plain(" "), page.Warning(e.Kind))
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

// entrySaid is the sentence of a message; "": its text is shown as it is.
func entrySaid(e mail.InboxEntry) string {
	handle := ""
	if e.Request != nil {
		handle = RequestID(e.Request.Of)
	}
	return sentence.OfMessage(e.Payload, handle)
}

// became says whether the request of a message is open, or how and by whom it was answered; "" for other messages.
func became(e mail.InboxEntry, now time.Time) string {
	q := e.Request
	switch _, shutdown := e.Payload.(protocol.ShutdownRequest); {
	case shutdown && e.Reply == "":
		return "no answer yet"
	case q == nil:
		return e.Reply
	case q.Of.Answer == nil:
		return statusWord(q.Of)
	}
	n := q.Of.Answer
	said := map[string]string{record.DecisionAllow: "allowed", record.DecisionDeny: "denied", record.DecisionAnswer: "answered"}[n.Decision]
	by := n.By
	if n.Via != "" && n.Via != n.By {
		by += ", " + n.Via + ","
	}
	if n.State == "taken back" {
		return said + " by " + strings.TrimSuffix(by, ",") + ", taken back"
	}
	return said + " by " + by + " " + page.When(n.At, now)
}

// unknownType is the kind that a message of none that is known says it is.
func unknownType(text string) string {
	var frame struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal([]byte(text), &frame) // what is no object has no type
	return strings.TrimSpace(strconv.Quote(frame.Type))
}

// NewsPage shows events of the members, for the lead.
func NewsPage(news []control.News, now time.Time) (p page.Page) {
	for _, n := range news {
		line := page.Line{page.Plain("* "), page.Strong(cmp.Or(string(n.Member), "everybody")), page.Plain(" "), page.Faint(page.When(n.Time, now)), page.Plain(" "), page.Warning(string(n.What))}
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

// AttachmentDocument is the message of seed 003 that has unread mail in it.
type AttachmentDocument struct {
	Type    string                    `json:"type"` // user
	Message AttachmentMessageDocument `json:"message"`
	IsMeta  bool                      `json:"isMeta"`
}

// AttachmentMessageDocument is its content.
type AttachmentMessageDocument struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Attachments is the document of unread mail as one message for an agent: an empty list
// where nothing is unread.
func Attachments(prompt string) []AttachmentDocument {
	if prompt == "" {
		return []AttachmentDocument{}
	}
	return []AttachmentDocument{{"user", AttachmentMessageDocument{"user", prompt}, true}}
}

// EndpointPage shows where to POST, and with what.
func EndpointPage(e mail.Endpoint) (p page.Page) {
	p.Line(page.Plain("url    " + e.URL + "/v1/TEAM/MEMBER"))
	p.Line(page.Plain("token  " + e.Token))
	p.Line(page.Plain("pid    " + strconv.Itoa(e.PID)))
	return p
}
