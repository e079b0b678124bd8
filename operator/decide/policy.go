package decide

import (
	"cmp"
	"context"
	"slices"
	"time"

	"waggle/control"
	"waggle/journal"
	"waggle/machine"
	"waggle/operator"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// PolicyChange is a version of the policy and the members that have applied it.
type PolicyChange struct {
	Team    string         `json:"team"`
	Version uint64         `json:"version"`
	Changed bool           `json:"changed"` // false: the policy had it already
	Members []PolicyMember `json:"members"`
	// Keep names the members that may keep a removed rule: waggle does not run them, and whether their program
	// reads permissionUpdate.removedRules is not known (protocol §1.8).
	Keep operator.Nullable[string] `json:"keep"` // members that may keep a removed rule; null: nothing was changed
}

// PolicyMember is how far a member is with the newest version. The version applies to the member
// from the moment it is in the journal: every call that starts is judged by it.
type PolicyMember struct {
	Name    string `json:"name"`
	State   string `json:"state"` // applied, pending; unsupported: the member accepts no policy from waggle
	Version uint64 `json:"version"`
	Mode    string `json:"mode"` // the member's present mode, apart from a plan that it owes
}

// Values of PolicyMember.State.
const (
	PolicyApplied     = "applied"
	PolicyPending     = "pending"
	PolicyUnsupported = "unsupported"
)

// RuleScope is the member that a rule applies to, and its end.
type RuleScope struct {
	Member protocol.MemberName // "": the team
	Until  *time.Time          // nil: until it is removed
}

// AddRule makes a new version of the policy with a rule, and sends it to the members. A rule that
// exists with the same scope gets the new end.
func (o Operator) AddRule(ctx context.Context, name protocol.TeamName, r policy.Rule, deny bool, sc RuleScope) (*PolicyChange, error) {
	return o.changePolicy(ctx, name, "a change of policy", func(s *operator.State, p *record.PolicySet) error {
		i, err := scope(s, sc.Member)
		if err != nil {
			return err
		}
		addRule(p, record.Scoped{Rule: r, Deny: deny, Instance: i, Until: sc.Until})
		return nil
	})
}

// addRule adds a rule to a policy: to the team's own list when it has no end.
func addRule(p *record.PolicySet, sc record.Scoped) {
	list := &p.Policy.Allow
	if sc.Deny {
		list = &p.Policy.Deny
	}
	if sc.Instance == "" && slices.Contains(*list, sc.Rule) {
		return // without end already
	}
	for i, have := range p.Rules {
		if have.Rule != sc.Rule || have.Deny != sc.Deny || have.Instance != sc.Instance || have.Task != "" && have.Task != sc.Task {
			continue
		}
		if have.Until == nil || sc.Until != nil && !have.Until.Before(*sc.Until) {
			return
		}
		if have.Task != sc.Task {
			continue // beside the one that ends earlier
		}
		p.Rules = slices.Delete(slices.Clone(p.Rules), i, i+1)
		break
	}
	if sc.Instance == "" && sc.Until == nil {
		*list = append(slices.Clone(*list), sc.Rule)
		return
	}
	p.Rules = append(slices.Clone(p.Rules), sc)
}

// RemoveRule makes a new version of the policy without a rule. Without a member it removes the rule
// of the team and of every member.
func (o Operator) RemoveRule(ctx context.Context, name protocol.TeamName, r policy.Rule, deny bool, member protocol.MemberName) (*PolicyChange, error) {
	keep := []string{}
	c, err := o.changePolicy(ctx, name, "a change of policy", func(s *operator.State, p *record.PolicySet) error {
		i, err := scope(s, member)
		if err != nil {
			return err
		}
		keep = keepers(s, i)
		before := len(p.Policy.Allow) + len(p.Policy.Deny) + len(p.Rules)
		p.Rules = slices.DeleteFunc(slices.Clone(p.Rules), func(sc record.Scoped) bool {
			return sc.Rule == r && sc.Deny == deny && (i == "" || sc.Instance == i)
		})
		same := func(have policy.Rule) bool { return have == r }
		switch {
		case i != "":
		case deny:
			p.Policy.Deny = slices.DeleteFunc(slices.Clone(p.Policy.Deny), same)
		default:
			p.Policy.Allow = slices.DeleteFunc(slices.Clone(p.Policy.Allow), same)
		}
		if len(p.Policy.Allow)+len(p.Policy.Deny)+len(p.Rules) == before {
			return &operator.Error{Kind: operator.NotFound, Op: "policy rm", Msg: "the policy has no such rule: " + effectOf(deny) + " " + r.String(),
				Next: operator.NextListRules.With(), Near: mapped(allRules(*p), ruleName)}
		}
		return nil
	})
	if c != nil {
		c.Keep = keep
	}
	return c, err
}

// AllowSandboxed makes a new version of the policy in which a shell call that runs inside a verified
// sandbox is allowed without asking (policy.Policy.Sandboxed), or asks as every other.
func (o Operator) AllowSandboxed(ctx context.Context, name protocol.TeamName, allow bool) (*PolicyChange, error) {
	return o.changePolicy(ctx, name, "a change of policy", func(_ *operator.State, p *record.PolicySet) error {
		p.Sandboxed = allow
		return nil
	})
}

// keepers returns the present members that may have a rule for i ("" is everybody) and cannot be
// made to drop it: those that waggle does not run.
func keepers(s *operator.State, i record.Instance) []string {
	names := []string{}
	for _, m := range s.Lead.Live() {
		if m.Trust == record.FileTrust && (i == "" || i == m.Instance) {
			names = append(names, string(m.Name))
		}
	}
	return names
}

// allRules are the rules of a policy: the team's own, which have no end, then those that were added.
func allRules(p record.PolicySet) (all []record.Scoped) {
	for _, r := range p.Policy.Allow {
		all = append(all, record.Scoped{Rule: r})
	}
	for _, r := range p.Policy.Deny {
		all = append(all, record.Scoped{Rule: r, Deny: true})
	}
	return append(all, p.Rules...)
}

// ruleName is a rule with its effect.
func ruleName(r record.Scoped) string { return effectOf(r.Deny) + " " + r.Rule.String() }

func effectOf(deny bool) string {
	if deny {
		return record.DecisionDeny
	}
	return record.DecisionAllow
}

// everyone is the member name for the whole team.
const everyone = "*"

// SetMode gives a member its own mode, or with "*" the team another mode.
func (o Operator) SetMode(ctx context.Context, name protocol.TeamName, member string, mode policy.Mode) (*PolicyChange, error) {
	if member == everyone {
		return o.changePolicy(ctx, name, "a change of mode", func(_ *operator.State, p *record.PolicySet) error {
			p.Policy.Mode = mode
			return nil
		})
	}
	s, err := o.Open(ctx, name, operator.Lead("a change of mode"))
	if err != nil {
		return nil, err
	}
	m, err := Member(s, member)
	if err != nil {
		return nil, err
	}
	bounded, err := o.Adopt(ctx, s)
	if err != nil {
		return nil, err
	}
	ordered, err := o.OrderMode(ctx, s, m.Instance, mode, 0)
	if err != nil {
		return nil, err
	}
	return o.heard(ctx, s, bounded || ordered)
}

// OrderMode records the order of a member into a mode. undoes is the version of the order that it takes back; 0: none.
func (o Operator) OrderMode(ctx context.Context, s *operator.State, i record.Instance, mode policy.Mode, undoes uint64) (ordered bool, err error) {
	mint, err := o.Minter.Mint()
	if err != nil {
		return false, err
	}
	recs, err := s.Journal.Append(ctx, o.Writer(), func() ([]journal.Draft, error) {
		m, _ := s.Lead.ByInstance(i)
		ds, err := s.Lead.SetMode(m, mode, o.Role(), o.Writer(), mint)
		for n, d := range ds {
			b := d.Body.(record.Commanded)
			b.Undoes = undoes
			ds[n].Body = b
		}
		return ds, err
	})
	return len(recs) > 0, err
}

// changePolicy makes a new version of the policy, in the operator's name, and brings it to the
// members. A change without effect makes no version.
func (o Operator) changePolicy(ctx context.Context, name protocol.TeamName, what string, change func(*operator.State, *record.PolicySet) error) (*PolicyChange, error) {
	s, err := o.Open(ctx, name, operator.Lead(what))
	if err != nil {
		return nil, err
	}
	return o.changeOpen(ctx, s, change)
}

// changeOpen is changePolicy for a team that is open. The caller has asked guard.
func (o Operator) changeOpen(ctx context.Context, s *operator.State, change func(*operator.State, *record.PolicySet) error) (*PolicyChange, error) {
	changed, err := o.appendPolicy(ctx, s, change)
	if err != nil {
		return nil, err
	}
	return o.heard(ctx, s, changed)
}

// appendPolicy appends a new version of the policy, unless it is as before. It waits for nobody.
func (o Operator) appendPolicy(ctx context.Context, s *operator.State, change func(*operator.State, *record.PolicySet) error) (changed bool, err error) {
	mint, err := o.Minter.Mint()
	if err != nil {
		return false, err
	}
	recs, err := s.Journal.Append(ctx, o.Writer(), func() ([]journal.Draft, error) { return o.policyDrafts(s, mint, change) })
	return len(recs) > 0, err
}

// policyDrafts drafts a new version of the policy, nothing when it is as before.
func (o Operator) policyDrafts(s *operator.State, mint record.Mint, change func(*operator.State, *record.PolicySet) error) ([]journal.Draft, error) {
	set := s.Lead.Policy
	set.Undoes = nil
	set.Ceiling = o.CeilingOf(set.Ceiling)
	if err := change(s, &set); err != nil {
		return nil, err
	}
	if samePolicy(set, s.Lead.Policy) {
		return nil, nil
	}
	return s.Lead.SetPolicy(set, o.Writer(), mint)
}

func samePolicy(a, b record.PolicySet) bool {
	return a.Policy.Mode == b.Policy.Mode && a.Sandboxed == b.Sandboxed && slices.Equal(a.Policy.Allow, b.Policy.Allow) && slices.Equal(a.Policy.Deny, b.Policy.Deny) &&
		slices.Equal(a.Rules, b.Rules) && slices.Equal(a.Hosts, b.Hosts) && slices.Equal(a.Spent, b.Spent) && a.Ceiling.Same(b.Ceiling)
}

// heard waits for the members to apply a version and returns how far each is.
func (o Operator) heard(ctx context.Context, s *operator.State, changed bool) (*PolicyChange, error) {
	c := &PolicyChange{Team: string(s.Team), Changed: changed, Members: []PolicyMember{}, Keep: []string{}}
	look := func() (bool, error) {
		var all bool
		c.Version = s.Lead.Version()
		c.Members, all = heardBy(s)
		return all, nil
	}
	if !changed {
		_, err := look()
		return c, err
	}
	return c, o.settle(ctx, s, look)
}

// heardBy returns how far each present member is, and whether every one whose process runs has
// applied the newest version.
func heardBy(s *operator.State) (ms []PolicyMember, all bool) {
	ms, all = []PolicyMember{}, true
	for _, m := range s.Lead.Members {
		if m.State() == machine.Terminated {
			continue
		}
		pm := PolicyMember{Name: string(m.Name), State: PolicyPending, Mode: string(ModeName(s.Lead.ModeOf(m.Instance)))}
		w, err := s.Worker(m.Instance)
		switch {
		case m.Trust == record.FileTrust:
			pm.State = PolicyUnsupported
		case err == nil && w.Epoch > 0 && len(Unapplied(s.Lead, w)) == 0:
			// a member that joined later got no message: it began with this policy
			pm.State, pm.Version = PolicyApplied, cmp.Or(w.PolicyVersion, s.Lead.Policy.Policy.Version)
		default:
			pm.Version = w.PolicyVersion
			all = all && (m.Process == nil || !m.Process.ID.Alive())
		}
		ms = append(ms, pm)
	}
	return ms, all
}

// Unapplied lists the orders with a policy or a mode that a member has not applied yet.
func Unapplied(l *control.Leader, w *control.Worker) []*control.Order {
	return slices.DeleteFunc(l.Unclosed(w.Instance), func(o *control.Order) bool {
		return o.Commanded == nil || o.Commanded.Version == 0 || !w.Wants(o)
	})
}

// ModeName returns a mode by its name; the zero mode is the default one.
func ModeName(m policy.Mode) policy.Mode {
	return cmp.Or(m, policy.ModeDefault)
}

// Member finds a present member by its name.
func Member(s *operator.State, name string) (*control.Member, error) {
	ms, err := operator.Namesakes(s.Lead.Live(), name)
	if err != nil {
		return nil, err
	}
	return ms[0], nil
}

// scope returns the instance of a member's name, "" for the team.
func scope(s *operator.State, name protocol.MemberName) (record.Instance, error) {
	if name == "" {
		return "", nil
	}
	m, err := Member(s, string(name))
	if err != nil {
		return "", err
	}
	return m.Instance, nil
}
