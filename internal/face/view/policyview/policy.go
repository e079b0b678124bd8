package policyview

import (
	"fmt"
	"strings"
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

// Mode is the document of the members' modes, in the form of a change that changes nothing.
func Mode(v *decide.PolicyView) *decide.PolicyChange {
	return &decide.PolicyChange{Team: v.Team, Version: v.Version, Members: v.Members}
}

// PolicyChangePage shows a new version of the policy, and which members have applied it.
func PolicyChangePage(c *decide.PolicyChange, what string) (p page.Page) {
	if !c.Changed {
		p.Line(page.Plain(fmt.Sprintf("%s: it was so already, in version %d", what, c.Version)))
		return p
	}
	p.Line(page.Plain(fmt.Sprintf("%s: policy version %d", what, c.Version)))
	for _, name := range c.Keep {
		p.Line(page.Plain("  " + name + " keeps the old rule if it was told of it and its program does not read removedRules: waggle does not run it"))
	}
	addPolicyMembers(&p, c.Members)
	return p
}

func addPolicyMembers(p *page.Page, ms []decide.PolicyMember) {
	t := page.Table{Head: []string{"  MEMBER", "POLICY", "MODE"}}
	for _, m := range ms {
		t.Rows = append(t.Rows, []string{"  " + m.Name, fmt.Sprintf("v%d %s", m.Version, m.State), m.Mode})
	}
	p.Rows(t)
}

// CeilingPage shows the user's ceiling. It is empty where there is none.
func CeilingPage(c *decide.CeilingView) (p page.Page) {
	if c == nil {
		return nil
	}
	var parts []string
	if c.Mode != "" {
		parts = append(parts, "widest mode "+c.Mode)
	}
	if c.Allow != nil {
		parts = append(parts, "at most "+rulesText("allow ", c.Allow))
	}
	if len(c.Deny) > 0 {
		parts = append(parts, rulesText("deny ", c.Deny))
	}
	p.Line(page.Strong("ceiling"), page.Plain(" "+c.File+": "+strings.Join(parts, "; ")))
	if len(c.Cut) > 0 {
		p.Line(page.Plain("  "), page.Warning("without effect:"), page.Plain(" "+strings.Join(c.Cut, ", ")))
	}
	return p
}

func rulesText(effect string, rules []string) string {
	if len(rules) == 0 {
		return effect + "nothing"
	}
	return effect + strings.Join(rules, ", ")
}

// SessionRulesPage has a row for each rule.
func SessionRulesPage(r *decide.SessionRules, now time.Time) (p page.Page) {
	word := page.Warning("off: they answer nothing")
	if r.On {
		word = page.Good("on")
	}
	p.Line(page.Strong("rules for sessions"), page.Plain("  "), word)
	t := page.Table{Head: []string{"EFFECT", "UNTIL", "RULE"}, About: true}
	for _, one := range r.Rules {
		ends := page.Moment(page.At(one.Expires), now)
		if one.Over {
			ends = "over"
		}
		t.Rows = append(t.Rows, []string{one.Effect, ends, one.Rule})
	}
	p.Rows(t)
	return p
}

// shownMatches is how many matched calls a suggestion shows to a person.
const shownMatches = 5

// SuggestionPage is one suggestion, and the calls that it would have matched.
func SuggestionPage(s decide.Suggestion) (p page.Page) {
	same := "calls like it"
	if s.Identical {
		same = "the very same call"
	}
	p.Line(page.Strong(s.Rule), page.Plain(fmt.Sprintf("  risk %s; you approved %s %d times, for %s", s.Risk, same, s.Approvals, strings.Join(s.Members, ", "))))
	p.Line(page.Plain(fmt.Sprintf("  would have matched %d of the last %d calls:", s.Total, s.Looked)))
	for _, c := range s.Matched[:min(len(s.Matched), shownMatches)] {
		p.Line(page.Plain(fmt.Sprintf("    %s  %s %s by %s  %s", c.ID, c.Member, c.Decision, c.By, decide.ShownJSON(string(c.Input)))))
	}
	if more := len(s.Matched) - shownMatches; more > 0 {
		p.Line(page.Plain(fmt.Sprintf("    and %d more (--json has them all)", more)))
	}
	return p
}
