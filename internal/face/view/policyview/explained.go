package policyview

import (
	"fmt"
	"time"

	"waggle/internal/face/view/page"
	"waggle/operator/decide"
	"waggle/protocol"
)

// ExplainedPage shows what decided a call, and the result of every rule on it now.
func ExplainedPage(e *decide.Explained, now time.Time) (p page.Page) {
	p.Line(page.Strong(e.Handle), page.Plain(fmt.Sprintf("  %s asked for %s at %s: %s", e.Member, decide.Wanted(protocol.Kind(e.Kind)), page.Moment(e.At, now), e.Asks)))
	for _, why := range e.Risky {
		p.Line(page.Warning("  high risk: "), page.Plain(why))
	}
	by := fmt.Sprintf("  %s by %s under policy version %d", e.Decision, e.By, e.Version)
	switch {
	case e.Decision == "":
		by = "  it waits for an answer"
	case e.Rule != "":
		by += ": " + e.Rule
	}
	p.Line(page.Plain(by))
	if e.Reason != "" {
		p.Line(page.Plain("  " + e.Reason))
	}
	if e.Now != nil {
		p.Line(page.Strong("now"))
		p = append(p, JudgedPage(e.Now, true)...)
	}
	return p
}
