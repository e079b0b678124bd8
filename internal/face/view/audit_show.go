package view

import (
	"fmt"
	"strings"
	"time"

	"waggle/internal/face/view/page"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/record"
)

// AuditShowPage is one call whole.
func AuditShowPage(d *inspect.AuditDetail, now time.Time) (p page.Page) {
	e := d.Event
	row := func(name, text string) {
		if text != "" {
			p.Text(page.Strong(fmt.Sprintf("%-8s", name)), page.Plain(" "+text))
		}
	}
	row("id", e.ID)
	row("handle", e.Handle)
	row("member", fmt.Sprintf("%s (%s), instance %s", e.Member, record.Level(e.Trust).Words(), e.Instance))
	row("asked", page.Moment(e.Asked, now)+" for "+strings.TrimSuffix(e.Kind, "_request"))
	row("tool", e.Tool)
	row("input", string(e.Input))
	row("cwd", e.Cwd)
	row("reason", e.Reason)
	row("risk", e.Risk)
	row("digest", e.Digest)
	if e.Decision != "" {
		row("decided", fmt.Sprintf("%s by %s, channel %s, via %s, policy version %d %s", e.Decision, e.By, e.Channel, e.Via, e.Version, page.Moment(e.Decided, now)))
	}
	row("rule", e.Rule)
	row("said", e.Said)
	for i, text := range e.Answers {
		row(fmt.Sprintf("answer %d", i+1), text)
	}
	row("runs", string(e.Runs))
	row("digest", e.RunsDigest)
	row("outcome", e.Outcome)
	p.Line(page.Strong("records"))
	for _, r := range d.Records {
		p.Line(page.Plain("  "), page.Faint(page.ClockSeconds(r.Time, now)), page.Plain(fmt.Sprintf(" %s %d ", r.Owner, r.Seq)), page.Strong(r.Kind))
		p.Text(page.Plain("    " + decide.ShownJSON(string(r.Body))))
	}
	return p
}
