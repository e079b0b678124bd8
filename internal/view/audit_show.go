package view

import (
	"fmt"
	"strings"

	"waggle/operator/decide"
	"waggle/operator/inspect"
)

// AuditDetail is one call with every record about it.
type AuditDetail struct {
	Event   AuditDocument    `json:"event"`
	Records []RecordDocument `json:"records"`
}

// AuditShow is the document of one call.
func AuditShow(d *inspect.AuditDetail) AuditDetail {
	out := AuditDetail{event(d.Event), make([]RecordDocument, 0, len(d.Records))}
	for _, r := range d.Records {
		out.Records = append(out.Records, Record(r))
	}
	return out
}

// AuditShowPage is one call whole.
func AuditShowPage(d *inspect.AuditDetail) (p Page) {
	e := d.Event
	row := func(name, text string) {
		if text != "" {
			p.line(strong(fmt.Sprintf("%-8s", name)), plain(" "+text))
		}
	}
	row("id", e.ID)
	row("member", fmt.Sprintf("%s (%s), instance %s", e.Member, e.Trust, e.Instance))
	row("asked", stamp(e.Asked)+" for "+strings.TrimSuffix(e.Kind, "_request"))
	row("tool", e.Tool)
	row("input", string(e.Input))
	row("cwd", e.Cwd)
	row("reason", e.Reason)
	row("risk", e.Risk)
	row("digest", e.Digest)
	if e.Decision != "" {
		row("decided", fmt.Sprintf("%s by %s, channel %s, via %s, policy version %d %s", e.Decision, e.By, e.Channel, e.Via, e.Version, stamp(e.Decided)))
	}
	row("rule", e.Rule)
	row("said", e.Said)
	row("runs", string(e.Runs))
	row("digest", e.RunsDigest)
	row("outcome", e.Outcome)
	p.line(strong("records"))
	for _, r := range d.Records {
		p.line(plain("  "), faint(stamp(r.Time)), plain(fmt.Sprintf(" %s %d ", r.Owner, r.Seq)), strong(r.Kind))
		p.line(plain("    " + decide.ShownJSON(string(r.Body))))
	}
	return p
}
