package policyview

import (
	"fmt"

	"waggle/internal/face/view/page"
	"waggle/operator/decide"
)

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
