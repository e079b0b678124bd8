package record

import (
	"slices"
	"time"

	"waggle/policy"
)

// OfLead is the policy for the agent behind the lead: the lead's own (Lead), or the team's without one.
// The team's deny rules hold for it too.
func (p PolicySet) OfLead() PolicySet {
	if p.Lead == nil {
		return p
	}
	own := *p.Lead
	own.Version, own.Deny = p.Policy.Version, slices.Concat(own.Deny, p.Policy.Deny)
	p.Policy = own
	return p
}

// ModeOf is the mode of a member that was given one of its own, under this policy: any mode of the
// operator's; of the lead's, none wider than the team's mode, or than the lead's own where it was given
// after this policy. None is wider than the user's ceiling. own is "" where it was given none.
func (p PolicySet) ModeOf(own policy.Mode, by policy.Role, version uint64) policy.Mode {
	mode := p.Policy.Mode
	switch {
	case own == "":
	case by == policy.RoleOperator:
		mode = own
	case p.Lead != nil && version > p.Policy.Version:
		mode = p.Lead.Mode.Meet(own)
	default:
		mode = mode.Meet(own)
	}
	return p.Ceiling.Meet(mode)
}

// Judges lists every policy that a question of a member may be judged by: the paths that any of them
// resolves belong on the record of the question (policy.RealPaths).
func (p PolicySet) Judges(i Instance, now time.Time) []policy.Policy {
	own := p.For(i, now)
	own.Mode = policy.ModeDefault // rules of every mode count, whatever the mode is later
	out := []policy.Policy{own, p.For("", now)}
	if c := p.Ceiling; c != nil {
		out = append(out, c.Policy())
	}
	if p.Lead != nil {
		out = append(out, p.Ceiling.Bound(*p.Lead))
	}
	return out
}

// Pruned leaves out what has ended: rules and answers whose time is over, and those of members that
// are gone.
func (p PolicySet) Pruned(gone func(Instance) bool, now time.Time) PolicySet {
	p.Rules = slices.DeleteFunc(slices.Clone(p.Rules), func(s Scoped) bool { return Past(s.Until, now) || gone(s.Instance) })
	p.Hosts = slices.DeleteFunc(slices.Clone(p.Hosts), func(g HostGrant) bool { return Past(g.Until, now) || gone(g.Instance) })
	p.Spent = slices.DeleteFunc(slices.Clone(p.Spent), func(k Key) bool { return gone(k.Instance) })
	return p
}

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
