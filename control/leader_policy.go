package control

import (
	"cmp"
	"slices"
	"time"

	"waggle/journal"
	"waggle/machine"
	"waggle/message"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// SetMode orders a member into a mode of its own (protocol §1.7). The same mode again drafts
// nothing. Only the operator makes it wider than the team's mode; nobody makes it wider than the
// ceiling (*CeilingError), and nobody ends the plan that a member owes with it.
func (l *Leader) SetMode(m *Member, mode policy.Mode, by policy.Role, w journal.Writer, mint record.Mint) ([]journal.Draft, error) {
	switch _, err := policy.ParseMode(string(mode)); {
	case err != nil:
		return nil, &RefusedError{Why: err.Error()}
	case m.State() == machine.Terminated:
		return nil, &RefusedError{Why: string(m.Name) + " has ended"}
	case by == policy.RoleOperator && !w.Operator:
		return nil, &RefusedError{Why: "only a process of the operator sets a mode in the operator's name"}
	case m.Mode == mode && m.ModeBy == by:
		return nil, nil
	case l.Policy.Ceiling.Meet(mode) != mode:
		return nil, &record.CeilingError{Ceiling: l.Policy.Ceiling, Over: []string{"mode " + string(mode)}}
	}
	return l.command(m, record.Commanded{What: record.CommandMode, Mode: mode, Version: l.version + 1, By: by},
		protocol.ModeSetRequest{Mode: string(mode), From: string(protocol.Lead)}, mint)
}

// SetPolicy gives the team a policy, under the next version, and notifies every member. Expired rules and host grants
// are left out. A member's policy is the one in this journal: the message to it only notifies it, and its applied
// record says that it got the message. A policy that exceeds the ceiling is refused (*CeilingError).
func (l *Leader) SetPolicy(p record.PolicySet, w journal.Writer, mint record.Mint) ([]journal.Draft, error) {
	if !w.Operator {
		return nil, &RefusedError{Why: "only the operator sets the policy"}
	}
	if err := p.CheckCeiling(l.Policy); err != nil {
		return nil, err
	}
	p = l.prune(p, mint.Now)
	p.By = policy.RoleOperator
	p.Policy.Version = l.version + 1 // newsOf compares modes under it
	most := 1
	for _, m := range l.Members {
		most = max(most, len(l.newsOf(m, p, mint.Now).rules))
	}
	p.Policy.Version = l.version + uint64(most)
	ds := []journal.Draft{{Kind: record.KindPolicy, Must: true, Body: p}}
	n := 0
	for _, m := range l.Members {
		if m.State() == machine.Terminated {
			continue
		}
		for _, news := range l.newsOf(m, p, mint.Now).payloads(p.Policy.Version) {
			c, err := l.command(m, record.Commanded{What: record.CommandPolicy, Version: p.Policy.Version, By: policy.RoleOperator}, news, mint.Nth(n))
			if err != nil {
				return nil, err
			}
			n++
			ds = append(ds, c...)
		}
	}
	return ds, nil
}

// news are the frames that tell a member of a new policy.
type news struct {
	mode  policy.Mode // its mode when it changes, else empty
	rules []protocol.TeamPermissionUpdate
}

// newsOf are the changes of a new policy for a member: its mode when it changes, the new denials, the new allows,
// what is no longer denied and no longer allowed, a frame each, because a frame carries one behaviour and a removal
// has an empty list of rules, which no reader takes for a grant (protocol §1.7, §1.8). When nothing of that changes,
// a member of ours gets an update without rules, whose record names the version; a member that uses files gets nothing.
func (l *Leader) newsOf(m *Member, next record.PolicySet, now time.Time) (n news) {
	old, next := m.policyOf(l.Policy), m.policyOf(next)
	if mode := m.modeUnder(next); mode != m.modeUnder(old) {
		n.mode = mode
	}
	before, after := old.For(m.Instance, now), next.For(m.Instance, now)
	none := []protocol.PermissionRule{}
	for _, u := range []protocol.PermissionUpdate{
		{Behavior: "deny", Rules: message.Added(before.Deny, after.Deny)},
		{Behavior: "allow", Rules: message.Added(before.Allow, after.Allow)},
		{Behavior: "deny", Rules: none, RemovedRules: message.Added(after.Deny, before.Deny)},
		{Behavior: "allow", Rules: none, RemovedRules: message.Added(after.Allow, before.Allow)},
	} {
		if named := append(slices.Clone(u.Rules), u.RemovedRules...); len(named) > 0 {
			n.rules = append(n.rules, protocol.TeamPermissionUpdate{ToolName: named[0].ToolName, PermissionUpdate: u})
		}
	}
	if n.mode == "" && len(n.rules) == 0 && m.Trust != record.FileTrust {
		n.rules = []protocol.TeamPermissionUpdate{{PermissionUpdate: protocol.PermissionUpdate{Behavior: "allow", Rules: none}}}
	}
	return n
}

// payloads are the frames in the order in which they are sent. The updates are numbered up to the policy's version,
// because a reader takes none twice and none out of order.
func (n news) payloads(version uint64) (list []protocol.Payload) {
	if n.mode != "" {
		list = append(list, protocol.ModeSetRequest{Mode: string(n.mode), From: string(protocol.Lead)})
	}
	for i, u := range n.rules {
		u.PolicyVersion = version - uint64(len(n.rules)-1-i)
		list = append(list, u)
	}
	return list
}

// afterPlan is the mode that holds for a member once its plan is approved, "" where the approval does not say it:
// plan, which would contradict it, and to another program the modes that only waggle has (protocol §1.6, §1.7).
func (l *Leader) afterPlan(m *Member) policy.Mode {
	mode := cmp.Or(l.ModeOf(m.Instance), policy.ModeDefault)
	ours := mode == policy.ModeSafe || mode == policy.ModeLockedDown
	if mode == policy.ModePlan || ours && m.Trust == record.FileTrust {
		return ""
	}
	return mode
}

// modeUnder is the member's mode under a policy, by its name on the wire.
func (m *Member) modeUnder(p record.PolicySet) policy.Mode {
	return cmp.Or(p.ModeOf(m.Mode, m.ModeBy, m.modeVersion), policy.ModeDefault)
}

// prune leaves out what has ended: rules and answers whose time is over, and
// those of members that have left.
func (l *Leader) prune(p record.PolicySet, now time.Time) record.PolicySet {
	return p.Pruned(func(i record.Instance) bool {
		m := l.byInst[i]
		return i != "" && (m == nil || m.State() == machine.Terminated)
	}, now)
}
