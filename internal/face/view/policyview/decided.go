package policyview

import (
	"cmp"
	"fmt"
	"time"

	"waggle/internal/face/view/page"
	"waggle/operator/decide"
)

// DecidedList is the document of answers. Policy is set with a new rule: a decide.PolicyChange, or
// the decide.SessionRules of a rule for sessions.
type DecidedList struct {
	Policy  any              `json:"policy,omitempty"`
	Results []decide.Decided `json:"results"`
}

// DecidedLine shows the result of an answer that was not refused.
func DecidedLine(d decide.Decided, now time.Time) page.Line {
	word := page.Bad(d.Decision)
	if d.Decision != "deny" {
		word = page.Good(d.Decision)
	}
	name := cmp.Or(d.Handle, d.ID)
	if d.Revision > 0 {
		name += fmt.Sprintf(" plan, revision %d", d.Revision)
	}
	head := page.Plain(name + "  ")
	switch {
	case d.Voted:
		return page.Line{head, page.Warning("allow"), page.Plain(", one vote of two: another principal has to allow it, too")}
	case !d.Changed:
		return page.Line{head, word, page.Plain(" already, by " + d.By + " at " + page.Clock(d.At, now))}
	case d.Delivered:
		return page.Line{head, word, page.Plain(", delivered")}
	case d.Asker != "":
		return page.Line{head, word, page.Plain(", decided, not delivered: " + d.Asker)}
	case d.Silent != "":
		return page.Line{head, word, page.Plain(", decided, not yet delivered: " + d.Silent)}
	}
	return page.Line{head, word, page.Plain(", decided, not yet delivered")}
}
