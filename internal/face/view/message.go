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
	p.Rows(t)
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

// SentPage shows the state of messages. For a single one that failed it is empty: the command's
// error says it.
func SentPage(rs []mail.Sent) (p page.Page) {
	if len(rs) == 1 {
		return sentLine(rs[0])
	}
	t := page.Table{Head: []string{"TO", "STATE", "AHEAD", "ID", ""}}
	ids := make([]string, 0, len(rs))
	for _, r := range rs {
		ids = append(ids, r.MsgID)
	}
	for _, r := range rs {
		what := r.Detail
		if r.Err() != nil {
			what = r.Error
		}
		t.Rows = append(t.Rows, []string{r.To, string(r.State), ahead(r), shortOf(r.MsgID, ids), what})
	}
	p.Rows(t)
	for _, r := range rs {
		addStep(&p, r)
	}
	return p
}

func sentLine(r mail.Sent) (p page.Page) {
	if r.Err() != nil {
		return nil
	}
	line := page.Line{page.Plain(r.To + "  "), page.Good(string(r.State))}
	for _, more := range []string{r.Detail, ahead(r)} {
		if more != "" {
			line = append(line, page.Plain(", "+more))
		}
	}
	p.Line(append(line, page.Plain(" ("+shortOf(r.MsgID, nil)+")"))...)
	addStep(&p, r)
	return p
}

// addStep shows what has to be done before a recipient reads its message.
func addStep(p *page.Page, r mail.Sent) {
	if r.Next.Step != "" {
		p.Line(page.Plain(r.To+" reads it after  "), page.WholeStep(r.Next))
	}
}

// ahead shows how many messages a member reads first.
func ahead(r mail.Sent) string {
	if r.Ahead == 0 || r.State.Over() {
		return ""
	}
	return fmt.Sprintf("%d unread ahead of it", r.Ahead)
}

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
