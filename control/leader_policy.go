package control

import (
	"slices"

	"waggle"
	"waggle/journal"
	"waggle/policy"
)

// SetMode orders a member into a mode of its own (WIRE §1.7). The same mode again
// drafts nothing. Only the operator's word makes it wider than the team's mode,
// nobody's wider than the ceiling (*CeilingError), and nobody's ends the plan that
// a member owes.
func (l *Leader) SetMode(m *Member, mode policy.Mode, by policy.Role, w journal.Writer, mint Mint) ([]journal.Draft, error) {
	switch _, err := policy.ParseMode(string(mode)); {
	case err != nil:
		return nil, &RefusedError{Why: err.Error()}
	case m.State() == Terminated:
		return nil, &RefusedError{Why: string(m.Name) + " has ended"}
	case by == policy.RoleOperator && !w.Operator:
		return nil, &RefusedError{Why: "only a process of the operator sets a mode in the operator's name"}
	case m.Mode == mode && m.ModeBy == by:
		return nil, nil
	case l.Policy.Ceiling.Meet(mode) != mode:
		return nil, &CeilingError{Ceiling: l.Policy.Ceiling, Over: []string{"mode " + string(mode)}}
	}
	return l.command(m, Commanded{What: CommandMode, Mode: mode, Version: l.version + 1, By: by},
		waggle.ModeSetRequest{Mode: string(mode), From: string(waggle.Lead)}, mint)
}

// SetPolicy gives the team a policy, under the next version, and tells every
// member. Rules and host grants whose time is over are left out. What holds for a member is what this journal says: its message is
// news, and its applied record says that it has heard. What the ceiling does not
// let be is refused (*CeilingError).
func (l *Leader) SetPolicy(p PolicySet, w journal.Writer, mint Mint) ([]journal.Draft, error) {
	if !w.Operator {
		return nil, &RefusedError{Why: "only the operator sets the policy"}
	}
	if err := p.beyond(l.Policy); err != nil {
		return nil, err
	}
	p = l.prune(p, mint.Now)
	p.Policy.Version, p.By = l.version+1, policy.RoleOperator
	ds := []journal.Draft{{Kind: RecPolicy, Must: true, Body: p}}
	for _, m := range l.Members {
		if m.State() == Terminated {
			continue
		}
		news := newsOf(l.Policy.For(m.Instance, mint.Now), p.For(m.Instance, mint.Now))
		c, err := l.command(m, Commanded{What: CommandPolicy, Version: p.Policy.Version, By: policy.RoleOperator}, news, mint)
		if err != nil {
			return nil, err
		}
		ds = append(ds, c...)
	}
	return ds, nil
}

// newsOf says on the wire what a policy adds. A message carries one behaviour, so
// it names what is denied now, else what is allowed now, else the mode.
func newsOf(old, next policy.Policy) waggle.Payload {
	added := func(before, now []policy.Rule) []waggle.PermissionRule {
		var rs []waggle.PermissionRule
		for _, r := range now {
			if !slices.Contains(before, r) {
				rs = append(rs, waggle.PermissionRule{ToolName: r.Tool, RuleContent: r.Pattern})
			}
		}
		return rs
	}
	u := waggle.PermissionUpdate{Behavior: "deny", Rules: added(old.Deny, next.Deny)}
	if len(u.Rules) == 0 {
		u = waggle.PermissionUpdate{Behavior: "allow", Rules: added(old.Allow, next.Allow)}
	}
	if len(u.Rules) == 0 {
		mode := next.Mode
		if mode == "" {
			mode = policy.ModeDefault
		}
		return waggle.ModeSetRequest{Mode: string(mode), From: string(waggle.Lead)}
	}
	return waggle.TeamPermissionUpdate{ToolName: u.Rules[0].ToolName, PermissionUpdate: u}
}
