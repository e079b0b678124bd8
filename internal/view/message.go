package view

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"waggle/operator/mail"
	"waggle/record"
)

// MessagesDocument are messages with their states.
type MessagesDocument struct {
	Messages []MessageDocument `json:"messages"`
}

// MessageDocument is a message, the mailbox that holds it, and its delivery state.
type MessageDocument struct {
	To       string          `json:"to"`
	From     string          `json:"from"`
	MsgID    string          `json:"msg_id"`
	State    string          `json:"state"` // the last of states
	Since    string          `json:"since"` // of the newest state whose time is known
	Ahead    int             `json:"ahead"` // unread before it, while it waits
	Priority string          `json:"priority"`
	Entry    EntryDocument   `json:"entry"` // index -1: it is in no mailbox
	Raw      json.RawMessage `json:"raw"`
	States   []StateDocument `json:"states"`
}

// StateDocument is one state that a message has reached.
type StateDocument struct {
	State    string `json:"state"`
	At       string `json:"at"`       // "" when no record has it
	Evidence string `json:"evidence"` // which record of which journal, or what the mailbox shows
	Detail   string `json:"detail"`
}

// Messages is the document of messages.
func Messages(ms []mail.StoredMessage) MessagesDocument {
	d := MessagesDocument{make([]MessageDocument, 0, len(ms))}
	for _, m := range ms {
		d.Messages = append(d.Messages, message(m))
	}
	return d
}

func message(m mail.StoredMessage) MessageDocument {
	d := MessageDocument{m.To, m.From, m.MsgID, string(m.State), sinceOf(m), m.Ahead, string(m.Priority), Entry(m.Entry), m.Raw, make([]StateDocument, 0, len(m.States))}
	for _, s := range m.States {
		d.States = append(d.States, StateDocument{string(s.State), stateAt(s), s.Evidence, s.Detail})
	}
	return d
}

// stateAt is the time of a state: as a record has it, or as the message says.
func stateAt(s mail.MessageState) string {
	if s.At.IsZero() {
		return s.Claimed
	}
	return stamp(s.At)
}

// sinceOf is the time of the newest state that has one.
func sinceOf(m mail.StoredMessage) (since string) {
	for _, s := range m.States {
		if at := stateAt(s); at != "" {
			since = at
		}
	}
	return since
}

// MessagesPage has a row for each message.
func MessagesPage(ms []mail.StoredMessage) (p Page) {
	t := Table{Head: []string{"ID", "FROM", "TO", "STATE", "SINCE", "", "SUMMARY"}}
	for _, m := range ms {
		waits := ""
		if m.Ahead > 0 {
			waits = strconv.Itoa(m.Ahead) + " ahead"
		}
		what := m.Entry.Summary
		if what == "" {
			what = m.Entry.Kind
		}
		t.Rows = append(t.Rows, []string{m.MsgID, m.From, m.To, string(m.State), sinceOf(m), waits, what})
	}
	p.table(t)
	return p
}

// MessagePage shows a message whole, with its states.
func MessagePage(m mail.StoredMessage) (p Page) {
	head := string(m.State)
	if m.Priority != record.PriorityNormal {
		head += ", " + string(m.Priority)
	}
	if m.Ahead > 0 {
		head += ", " + strconv.Itoa(m.Ahead) + " unread ahead of it"
	}
	p.line(strong("to"), plain(" "+m.To+"  "), good(head), plain("  "), faint(m.Entry.ID))
	p = append(p, EntryPage(m.Entry)...)
	for _, s := range m.States {
		at := stateAt(s)
		if at == "" {
			at = strings.Repeat(" ", len("2006-01-02T15:04:05.000Z"))
		}
		detail := ""
		if s.Detail != "" {
			detail = s.Detail + "  "
		}
		p.line(plain("  "), faint(at), plain(fmt.Sprintf("  %-12s  %s", s.State, detail)), faint(s.Evidence))
	}
	for i, l := range strings.Split(strings.TrimSpace(string(m.Raw)), "\n") {
		if i == 0 {
			p.line(plain("  "), faint("raw"), plain(" "+l))
		} else {
			p.line(plain(l))
		}
	}
	return p
}
