package policyview

import (
	"fmt"
	"time"

	"waggle/internal/face/view/page"
	"waggle/internal/face/view/sentence"
	"waggle/operator/decide"
	"waggle/policy"
)

// PolicyPage is a policy: its rules, its hosts, its ceiling, and who has applied it.
func PolicyPage(v *decide.PolicyView, now time.Time) (p page.Page) {
	p.Line(page.Strong(v.Team), page.Plain(fmt.Sprintf("  policy version %d, mode %s; decided by: tool %s, plan %s, network %s", v.Version, v.Mode,
		v.Decide[policy.GateTool], v.Decide[policy.GatePlan], v.Decide[policy.GateNetwork])))
	if v.Sandboxed == policy.Allow.String() {
		p.Line(page.Plain("  " + sentence.Sandboxed))
	}
	t := page.Table{Head: []string{"EFFECT", "FOR", "UNTIL", "RULE"}, About: true}
	for _, r := range v.Rules {
		t.Rows = append(t.Rows, []string{r.Effect, r.Scope, page.Moment(page.At(r.Expires), now), r.Rule})
	}
	if len(t.Rows) > 0 {
		p.Line()
		p.Table(t)
	}
	if len(v.Hosts) > 0 {
		p.Line()
		p = append(p, GrantPage(v.Hosts, now)...)
	}
	p = append(p, CeilingPage(v.Ceiling)...)
	p.Line()
	addPolicyMembers(&p, v.Members)
	return p
}

// ModePage is the mode of a team and of its members.
func ModePage(v *decide.PolicyView) (p page.Page) {
	p.Line(page.Strong(v.Team), page.Plain("  mode "+v.Mode))
	addPolicyMembers(&p, v.Members)
	return p
}
