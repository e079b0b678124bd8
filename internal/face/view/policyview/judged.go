package policyview

import (
	"cmp"
	"fmt"
	"time"

	"waggle/internal/face/view/page"
	"waggle/operator/decide"
	"waggle/policy"
	"waggle/protocol"
)

// JudgedPage shows what decides; every adds the rules that do not.
func JudgedPage(j *decide.Judged, every bool) (p page.Page) {
	first := page.Line{page.Warning(j.Decision), page.Plain(", answered by " + j.Decider + "  " + j.Rule)}
	switch j.Decision {
	case "allow":
		first = page.Line{page.Good(j.Decision), page.Plain("  " + j.Rule)}
	case "deny":
		first = page.Line{page.Bad(j.Decision), page.Plain("  " + j.Rule)}
	}
	p.Line(first...)
	p.Line(page.Plain("  " + j.Why))
	p.Line(page.Plain(fmt.Sprintf("  for %s: mode %s, %s, risk %s, policy version %d", cmp.Or(j.As, "the team"), j.Mode, j.Area, j.Risk, j.Version)))
	for _, r := range j.Rules {
		if !every && r.Match == policy.NoMatch {
			continue
		}
		counts := ""
		if r.Match != policy.NoMatch && !r.Counts {
			counts = ", but does not count in mode " + j.Mode
		}
		p.Line(page.Plain(fmt.Sprintf("  %-5s %s %s%s", r.Effect, r.Rule, r.Match, counts)))
	}
	return p
}

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
