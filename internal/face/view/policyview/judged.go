package policyview

import (
	"cmp"
	"fmt"

	"waggle/internal/face/view/page"
	"waggle/operator/decide"
	"waggle/policy"
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
