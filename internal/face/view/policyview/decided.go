package policyview

import (
	"cmp"
	"fmt"
	"time"

	"waggle/internal/face/view/page"
	"waggle/operator/decide"
)

// DecidedDocument is the result of an answer, and why it was refused.
type DecidedDocument struct {
	decide.Decided
	Error string `json:"error,omitempty"`
}

// DecidedList is the document of answers. Policy is set with a new rule: a decide.PolicyChange, or
// the decide.SessionRules of a rule for sessions.
type DecidedList struct {
	Policy  any               `json:"policy,omitempty"`
	Results []DecidedDocument `json:"results"`
}

// Decided is the document of one answer.
func Decided(d decide.Decided) DecidedDocument {
	out := DecidedDocument{Decided: d}
	if d.Err() != nil {
		out.Error = d.Err().Error()
	}
	return out
}

func decided(ds []decide.Decided) []DecidedDocument {
	out := make([]DecidedDocument, 0, len(ds))
	for _, d := range ds {
		out = append(out, Decided(d))
	}
	return out
}

// Results is the document of answers.
func Results(ds []decide.Decided) DecidedList { return DecidedList{Results: decided(ds)} }

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
