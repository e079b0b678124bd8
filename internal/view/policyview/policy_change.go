package policyview

import (
	"fmt"

	"waggle/internal/view/page"
	"waggle/operator"
	"waggle/operator/decide"
)

// PolicyChangeDocument is the result of a change of policy.
type PolicyChangeDocument struct {
	Team    string                    `json:"team"`
	Version uint64                    `json:"version"`
	Changed bool                      `json:"changed"` // false: the policy had it already
	Members []PolicyMemberDocument    `json:"members"`
	Keep    operator.Nullable[string] `json:"keep"` // members that may keep a removed rule; null: nothing was changed
}

// PolicyMemberDocument is how far a member is with a policy.
type PolicyMemberDocument struct {
	Name    string `json:"name"`
	State   string `json:"state"` // applied, pending, unsupported
	Version uint64 `json:"version"`
	Mode    string `json:"mode"`
}

// PolicyChange is the document of a change, nil where there is none.
func PolicyChange(c *decide.PolicyChange) *PolicyChangeDocument {
	if c == nil {
		return nil
	}
	return &PolicyChangeDocument{c.Team, c.Version, c.Changed, policyMembers(c.Members), c.Keep}
}

// Mode is the document of the members' modes, in the form of a change that changes nothing.
func Mode(v *decide.PolicyView) *PolicyChangeDocument {
	return PolicyChange(&decide.PolicyChange{Team: v.Team, Version: v.Version, Members: v.Members})
}

func policyMembers(ms []decide.PolicyMember) []PolicyMemberDocument {
	out := make([]PolicyMemberDocument, 0, len(ms))
	for _, m := range ms {
		out = append(out, PolicyMemberDocument(m))
	}
	return out
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
	if len(t.Rows) > 0 {
		p.Table(t)
	}
}
