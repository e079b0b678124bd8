package view

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"waggle/internal/face/view/page"
	"waggle/operator/inspect"
	"waggle/operator/mail"
	"waggle/protocol"
	"waggle/record"
)

// MessagesDocument are messages with their states.
type MessagesDocument struct {
	Messages []mail.StoredMessage `json:"messages"`
	Problems []inspect.BadRecord  `json:"problems,omitempty"` // journals that cannot be read to their end
}

// Messages is the document of messages. broken is the error of the journals that cannot be read.
func Messages(ms []mail.StoredMessage, broken error) MessagesDocument {
	return MessagesDocument{ms, unread(broken)}
}

// timeSaid is a time of a document for people; what is no time is shown as it is.
func timeSaid(at string, now time.Time) string {
	if t, err := protocol.ParseTime(at); err == nil {
		return page.When(t, now)
	}
	return at
}

// A message's id is a UUID unless another program made it. shortID of it are shown: they are random,
// and commands take a beginning.
const shortID, uuidLen = 8, 36

// shortOf is the beginning of a message's id, longer where another one of the list begins so.
func shortOf(id string, ids []string) string {
	for n := shortID; n < len(id) && len(id) == uuidLen; n++ {
		if !slices.ContainsFunc(ids, func(other string) bool { return other != id && strings.HasPrefix(other, id[:n]) }) {
			return id[:n]
		}
	}
	return id
}

// MessagesPage has a row for each message.
func MessagesPage(ms []mail.StoredMessage, now time.Time) (p page.Page) {
	t := page.Table{Head: []string{"ID", "FROM", "TO", "STATE", "SINCE", "", "SUMMARY"}}
	ids := make([]string, 0, len(ms))
	for _, m := range ms {
		ids = append(ids, m.MsgID)
	}
	for _, m := range ms {
		waits := ""
		if m.Ahead > 0 {
			waits = strconv.Itoa(m.Ahead) + " ahead"
		}
		t.Rows = append(t.Rows, []string{shortOf(m.MsgID, ids), m.From, m.To, string(m.State), timeSaid(m.Since, now), waits, cmp.Or(m.Entry.Summary, m.Entry.Kind)})
	}
	p.Table(t)
	return p
}

// MessagePage shows a message whole, with its states.
func MessagePage(m mail.StoredMessage, now time.Time) (p page.Page) {
	head := string(m.State)
	if m.Priority != record.PriorityNormal {
		head += ", " + string(m.Priority)
	}
	if m.Ahead > 0 {
		head += ", " + strconv.Itoa(m.Ahead) + " unread ahead of it"
	}
	p.Line(page.Strong("to"), page.Plain(" "+m.To+"  "), page.Good(head), page.Plain("  "), page.Faint(m.Entry.ID))
	p = append(p, EntryPage(m.Entry, true, now)...)
	for _, s := range m.States {
		at := fmt.Sprintf("%-10s", timeSaid(s.At, now))
		detail := ""
		if s.Detail != "" {
			detail = s.Detail + "  "
		}
		p.Line(page.Plain("  "), page.Faint(at), page.Plain(fmt.Sprintf("  %-12s  %s", s.State, detail)), page.Faint(s.Evidence))
	}
	for i, l := range strings.Split(strings.TrimSpace(string(m.Raw)), "\n") {
		if i == 0 {
			p.Text(page.Plain("  "), page.Faint("raw"), page.Plain(" "+l))
		} else {
			p.Text(page.Plain(l))
		}
	}
	return p
}
