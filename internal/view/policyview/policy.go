package policyview

import (
	"fmt"
	"time"

	"waggle/internal/view/page"
	"waggle/internal/view/sentence"
	"waggle/operator/decide"
	"waggle/policy"
)

// PolicyDocument is the policy in force.
type PolicyDocument struct {
	Team      string                `json:"team"`
	Version   uint64                `json:"version"`
	Mode      string                `json:"mode"`
	Sandboxed string                `json:"sandboxed"`  // allow, ask: a shell call that runs inside a verified sandbox
	Decide    map[string]string     `json:"decide"`     // by gate
	DeadlineS int64                 `json:"deadline_s"` // how long a request stays open; 0: without limit
	Rules     []decide.RuleView     `json:"rules"`
	Hosts     []decide.GrantView    `json:"hosts"`
	Members   []decide.PolicyMember `json:"members"`
	Ceiling   *decide.CeilingView   `json:"ceiling"` // null: there is none
}

// Policy is the document of a policy.
func Policy(v *decide.PolicyView) PolicyDocument {
	d := PolicyDocument{Team: v.Team, Version: v.Version, Mode: v.Mode, Sandboxed: sandboxedWord(v.Sandboxed), Decide: make(map[string]string, len(v.Decide)), DeadlineS: int64(v.Deadline.Seconds()),
		Rules: v.Rules, Hosts: v.Hosts, Members: v.Members, Ceiling: v.Ceiling}
	for gate, decider := range v.Decide {
		d.Decide[string(gate)] = string(decider)
	}
	return d
}

func sandboxedWord(allow bool) string {
	if allow {
		return policy.Allow.String()
	}
	return policy.Ask.String()
}

// PolicyPage is a policy: its rules, its hosts, its ceiling, and who has applied it.
func PolicyPage(v *decide.PolicyView, now time.Time) (p page.Page) {
	p.Line(page.Strong(v.Team), page.Plain(fmt.Sprintf("  policy version %d, mode %s; decided by: tool %s, plan %s, network %s", v.Version, v.Mode,
		v.Decide[policy.GateTool], v.Decide[policy.GatePlan], v.Decide[policy.GateNetwork])))
	if v.Sandboxed {
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
