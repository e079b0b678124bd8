package view

import (
	"fmt"

	"waggle/internal/face/view/page"
	"waggle/operator/mail"
)

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
