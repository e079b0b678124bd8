package teams

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"waggle/control"
	"waggle/internal/fs/worktree"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/process"
	"waggle/operator/teamfile"
	"waggle/policy"
	"waggle/record"
)

// former is a member that has left and that another one goes on as.
type former struct {
	*control.Member
	conversation *record.Conversation
}

// Return makes a member that has left a member again: a new instance with its settings, in its
// directory, with the conversation of its agent, its log and its artifacts. Its worktree is the one that
// was kept; of one that was removed, because nothing in it would have been lost, a new one is made. No
// grant, no order and no request of the earlier instance holds for the new one, and the tasks that it
// had given back stay given back. What was denied to it alone is denied to the new one.
func (o Operator) Return(ctx context.Context, s *operator.State, m *control.Member) (record.Instance, error) {
	if why := operator.Unreturning(m); why != "" {
		return "", &operator.Error{Kind: operator.Refused, Op: "resume", Msg: fmt.Sprintf("%s has left, and is not started again: %s", m.Name, why), Next: operator.NextWhoIsThere.With()}
	}
	w, err := s.Worker(m.Instance)
	if err != nil {
		return "", fmt.Errorf("journal of %s: %w", m.Name, err)
	}
	as := &former{Member: m, conversation: cmp.Or(w.Conversation, m.Joined.Conversation)}
	again := teamfile.FileMember{Name: m.Name, Agent: m.Agent, Backend: m.Backend, Color: m.Color, Cwd: m.Cwd, PlanRequired: m.PlanRequired,
		Worktree: m.Worktree != nil, Prepare: m.Prepare, Included: []string{}, Model: m.Model, Mode: modeAgain(m), Restart: m.Restart,
		Sandbox: m.Sandbox, Check: m.Check, Definition: m.Definition, Spec: m.Spec, File: m.File}
	if m.Definition != nil {
		again.Type = m.Definition.Name
	}
	if m.Worktree != nil {
		if there, err := process.Of(o.Operator).HasWorktree(s, m.Worktree); err != nil {
			return "", err
		} else if !there {
			again.Cwd = worktree.Tree(*m.Worktree).Outside(m.Cwd)
			if m.Check != nil {
				check := *m.Check
				check.Dir = worktree.Tree(*m.Worktree).Outside(check.Dir)
				again.Check = &check
			}
		}
	}
	_, i, err := o.join(ctx, s, again, joining{as: as})
	if err != nil {
		return "", err
	}
	return i, o.denyAgain(ctx, s, m.Instance, i)
}

// denyAgain makes the denials that were for an earlier instance alone those of a new one.
func (o Operator) denyAgain(ctx context.Context, s *operator.State, was, now record.Instance) error {
	rules, hosts := deniedTo(s, was, now)
	if len(rules)+len(hosts) == 0 {
		return nil
	}
	mint, err := o.Minter.Mint()
	if err != nil {
		return err
	}
	_, err = s.Journal.Append(ctx, o.Writer(), func() ([]journal.Draft, error) {
		set := s.Lead.Policy
		set.Undoes = nil
		set.Rules, set.Hosts = slices.Concat(set.Rules, rules), slices.Concat(set.Hosts, hosts)
		return s.Lead.SetPolicy(set, o.Writer(), mint)
	})
	return err
}

// modeAgain is the mode of a member that comes back: the one that was asked for, or the narrower one that
// it had when it left.
func modeAgain(m *control.Member) policy.Mode {
	if m.Mode != "" && decide.ModeName(m.Joined.Mode).Meet(m.Mode) == m.Mode {
		return m.Mode
	}
	return m.Joined.Mode
}

// keptTree makes the worktree that a member has left behind that of an instance; nil: there is none.
func (o Operator) keptTree(ctx context.Context, s *operator.State, as *former, to record.Instance) (*record.Worktree, error) {
	if as == nil || as.Worktree == nil {
		return nil, nil
	}
	kept, err := process.Of(o.Operator).PassWorktree(ctx, s, as.Worktree, to)
	if err != nil || !kept {
		return nil, err
	}
	return as.Worktree, nil
}

// deniedTo returns the denials that were for one member alone when it left, as those of another instance. They only forbid.
func deniedTo(s *operator.State, i, now record.Instance) (rules []record.Scoped, hosts []record.HostGrant) {
	var set record.PolicySet
	over := false
	_ = s.Dir.Journals().Salvage(journal.Leader, func(r journal.Record) {
		var left record.Left
		switch {
		case over:
		case r.Kind == record.KindPolicy:
			set = record.PolicySet{}
			over = json.Unmarshal(r.Body, &set) != nil
		case r.Kind == record.KindLeft && json.Unmarshal(r.Body, &left) == nil:
			over = left.Instance == i
		}
	})
	for _, r := range set.Rules {
		if r.Deny && r.Instance == i {
			r.Instance, r.From = now, nil
			rules = append(rules, r)
		}
	}
	for _, h := range set.Hosts {
		if h.Deny && h.Instance == i {
			h.Instance, h.From = now, nil
			hosts = append(hosts, h)
		}
	}
	return rules, hosts
}
