package supervise

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"waggle/agent"
	"waggle/control"
	"waggle/internal/claude"
	"waggle/internal/json/jsonobj"
	"waggle/journal"
	"waggle/leader"
	"waggle/operator"
	"waggle/operator/board"
	"waggle/operator/teamfile"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
	"waggle/task"
)

// leading acts for the lead's agent in a team that this process leads.
type leading struct {
	o    Operator
	team protocol.TeamName
}

var _ leader.Leading = leading{}

// as is the operator in the lead's name, with the team and the lead's agent as they are now.
func (l leading) as(ctx context.Context) (o Operator, s *operator.State, lead *control.Member, err error) {
	if s, err = l.o.Open(ctx, l.team, operator.Act); err != nil {
		return o, nil, nil, err
	}
	lead, ok := s.Lead.LeadAgent()
	if !ok {
		return o, nil, nil, &operator.Error{Kind: operator.Refused, Op: "lead", Msg: "the team has no lead's agent any more"}
	}
	o = l.o
	o.Leading = &journal.Writer{Instance: string(s.Lead.Instance), Epoch: s.Lead.Epoch, PID: o.PID}
	return o, s, lead, nil
}

// Spawn implements leader.Leading: the member is made like the lead's agent, in its directory and
// its sandbox and with at most its mode.
func (l leading) Spawn(ctx context.Context, n agent.NewMember) (name, first string, err error) {
	o, s, lead, err := l.as(ctx)
	if err != nil {
		return "", "", err
	}
	refuse := func(kind operator.Kind, err error) (string, string, error) {
		return "", "", &operator.Error{Kind: kind, Op: "spawn", Err: err}
	}
	m := teamfile.FileMember{Agent: lead.Agent, Backend: lead.Backend, Cwd: lead.Cwd, Model: lead.Model, Restart: lead.Restart, Sandbox: lead.Sandbox, Type: n.Type}
	if m.Name, err = protocol.ParseNewMember(n.Name); err != nil {
		return refuse(operator.Usage, err)
	}
	if over := wider(s.Lead.Policy, lead); len(over) > 0 {
		return refuse(operator.Refused, fmt.Errorf("members of this team may do what its lead may not do without asking (%s): only the operator starts one", strings.Join(over, ", ")))
	}
	if !slices.Contains([]string{operator.BackendProcess, operator.BackendTmux, operator.BackendTmuxWindow, operator.BackendITerm2}, m.Backend) {
		m.Backend = operator.BackendProcess
	}
	if err := like(&m, lead); err != nil {
		return refuse(operator.Refused, err)
	}
	one := teamfile.File{Path: "spawn_member", Members: []teamfile.FileMember{m}}
	if err := one.Define(o.ClaudeDir); err != nil {
		return "", "", err
	}
	m = one.Members[0]
	if mode := s.Lead.ModeOf(lead.Instance); mode != "" && mode != s.Lead.Policy.Policy.Mode {
		m.Mode = mode
	}
	sp, err := o.Spawn(ctx, l.team, NewMember{FileMember: m, Prompt: n.Prompt}, &LeadOptions{})
	if err != nil {
		return "", "", err
	}
	return sp.Name, sp.Task, nil
}

// like gives a new member the settings of the lead's agent.
func like(m *teamfile.FileMember, lead *control.Member) (err error) {
	switch lead.Agent {
	case "exec": // its tasks are its commands
		m.Spec, err = m.SpecOf(nil)
	case claude.Kind:
		s, err := claude.Read(lead.Spec)
		if err != nil {
			return err
		}
		if (s.Tools != nil || len(s.NoTools) > 0) && m.Type != "" {
			return fmt.Errorf("the lead's own tools are narrowed, and the type %s could have more of them: start it without a type", m.Type)
		}
		s.Prompt = ""
		m.Spec, err = jsonobj.Marshal(s)
		return err
	default:
		m.Spec = lead.Spec
	}
	return err
}

// wider names what the policy allows a new member to do without asking, and the lead's agent not.
func wider(p record.PolicySet, lead *control.Member) (over []string) {
	members := p.Policy
	for _, s := range p.Rules {
		switch {
		case s.Instance == lead.Instance && s.Deny:
			over = append(over, "deny "+s.Rule.String())
		case s.Instance == "" && !s.Deny:
			members.Allow = append(slices.Clip(members.Allow), s.Rule)
		}
	}
	if p.Lead == nil {
		return over
	}
	for _, r := range p.Lead.Deny {
		if !slices.Contains(members.Deny, r) {
			over = append(over, "deny "+r.String())
		}
	}
	most := &record.Ceiling{Allow: append([]policy.Rule{}, p.Lead.Allow...), Sandboxed: p.Sandboxed}
	members.Mode = policy.ModeDefault // the new member has the lead's mode
	return append(over, most.Beyond(members)...)
}

// Assign implements leader.Leading.
func (l leading) Assign(ctx context.Context, id, member string) error {
	o, _, _, err := l.as(ctx)
	if err != nil {
		return err
	}
	_, err = board.Of(o.Operator).AssignTask(ctx, l.team, task.ID(id), protocol.MemberName(member), board.Terms{})
	return err
}

// Board implements leader.Leading.
func (l leading) Board(ctx context.Context) ([]agent.BoardTask, error) {
	return board.Of(l.o.Operator).ForAgents(ctx, l.team)
}
