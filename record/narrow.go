package record

import (
	"slices"

	"waggle/policy"
)

// Narrowed is the policy of a team whose journal has lost records that changed it: denials and
// removals after s may be unknown. So no rule allows anything any more and the operator is asked;
// every deny rule stays, also those of after. now has the instances that members have then.
func (s PolicySet) Narrowed(after []PolicySet, now map[Instance]Instance) PolicySet {
	n := PolicySet{Policy: policy.Policy{Version: s.Policy.Version, Mode: policy.ModeDefault}, Lead: &policy.Policy{Mode: policy.ModeDefault},
		Unattended: s.Unattended, Deadline: s.Deadline, By: policy.RoleOperator, File: s.File, Path: s.Path, Ceiling: s.Ceiling}
	for _, p := range append([]PolicySet{s}, after...) {
		n.Policy.Version = max(n.Policy.Version, p.Policy.Version)
		n.Policy.Mode = n.Policy.Mode.Meet(p.Policy.Mode)
		n.Unattended = n.Unattended || p.Unattended
		for _, r := range p.Policy.Deny {
			if !slices.ContainsFunc(n.Policy.Deny, func(o policy.Rule) bool { return o.String() == r.String() }) {
				n.Policy.Deny = append(n.Policy.Deny, r)
			}
		}
		for _, r := range p.Rules {
			if i, ok := now[r.Instance]; ok && r.Deny {
				r.Instance, r.From = i, nil
				n.Rules = append(n.Rules, r)
			}
		}
		for _, h := range p.Hosts {
			if i, ok := now[h.Instance]; ok && h.Deny {
				h.Instance, h.From = i, nil
				n.Hosts = append(n.Hosts, h)
			}
		}
	}
	n.Policy.Version++
	return n
}
