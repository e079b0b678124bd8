package teams

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"waggle/agent"
	"waggle/internal/json/jsonobj"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/mail"
	"waggle/operator/teamfile"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
	"waggle/team"
	"waggle/worker"
)

// NewGuest describes a member of this operator that is to work in a team that another program
// leads.
type NewGuest struct {
	Name    protocol.MemberName
	Command []string // run for each message that it gets, with the message on standard input
	// Agent and Spec are another agent than such a command, with its settings, and Plan says that it needs an
	// approved plan before it changes anything.
	Agent string
	Spec  json.RawMessage
	Plan  bool
	Cwd   string      // absolute
	Mode  policy.Mode // "": default
}

// GuestOf describes the member of a team file as a guest. What a guest cannot have is an error that names it.
func GuestOf(f *teamfile.File, name protocol.MemberName) (NewGuest, error) {
	m, ok := f.Member(name)
	if !ok {
		return NewGuest{}, &operator.Error{Kind: operator.NotFound, Op: "guest", Msg: fmt.Sprintf("there is no member %s in %s", name, f.Path)}
	}
	no := ""
	switch {
	case m.Agent != "exec" && m.Agent != "script":
		no = "agent " + m.Agent
	case m.Worktree:
		no = "a worktree"
	case m.Sandbox != nil && m.Sandbox.Mode == record.SandboxRequired:
		no = "a sandbox"
	case m.Check != nil:
		no = "a check"
	case m.Budget != nil:
		no = "a budget"
	}
	if no != "" {
		return NewGuest{}, &operator.Error{Kind: operator.Usage, Op: "guest", Msg: fmt.Sprintf("member %s in %s has %s, which a guest cannot have", name, f.Path, no)}
	}
	n := NewGuest{Name: m.Name, Agent: m.Agent, Spec: m.Spec, Plan: m.PlanRequired, Cwd: m.Cwd, Mode: m.Mode}
	if m.Agent != "exec" {
		return n, nil
	}
	var exec agent.ExecSpec
	err := json.Unmarshal(m.Spec, &exec)
	n.Agent, n.Spec, n.Command = "", nil, exec.Command
	return n, err
}

// Guest is such a member, ready to run.
type Guest struct {
	State      *operator.State
	Name       protocol.MemberName
	Instance   record.Instance
	Registered bool // it was registered by this call
	// Early reports that the registry has no member but the lead and those that were registered here. Claude Code's
	// lead reads no mail before it has started a member of its own (protocol §9.2 #48).
	Early bool
	o     Operator
	guest worker.Guest
}

// Guest prepares a member that was registered here (team add) to work in a team that another
// program leads; without such a member it registers one. Its lead answers by file; what the user's
// ceiling denies stays denied.
func (o Operator) Guest(ctx context.Context, name protocol.TeamName, n NewGuest) (*Guest, error) {
	switch _, err := o.Open(ctx, name, operator.Act); {
	case err != nil && !operator.Unled(err):
		return nil, err
	case err == nil:
		return nil, &operator.Error{Kind: operator.Usage, Op: "guest", Msg: fmt.Sprintf("waggle leads team %s itself", name), Next: operator.NextSpawn.With()}
	case len(n.Command) == 0 && n.Agent == "":
		return nil, &operator.Error{Kind: operator.Usage, Op: "guest", Msg: "a guest needs a command that is run for the words it gets", Next: operator.NextGuest.With()}
	}
	if n.Agent == "" {
		spec, err := jsonobj.Marshal(agent.ExecSpec{Command: n.Command, Report: true})
		if err != nil {
			return nil, err
		}
		n.Agent, n.Spec = "exec", spec
	}
	cfg, err := o.Registry(ctx, name)
	if err != nil {
		return nil, err
	}
	s, _, err := mail.Of(o.Operator).JournalOf(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if err := o.GuardMembers(ctx, s, "guest"); err != nil {
		return nil, err
	}
	g := &Guest{o: o, guest: worker.Guest{Journal: operator.OwnJournal, Agent: n.Agent, Spec: n.Spec, Cwd: n.Cwd, Plan: n.Plan}}
	if g.Registered, err = o.guestEntry(ctx, s, cfg, n); err != nil {
		return nil, err
	}
	if g.State, _, err = mail.Of(o.Operator).JournalOf(ctx, cfg); err != nil {
		return nil, err
	}
	m, ok := g.State.Lead.Member(n.Name)
	if !ok || m.Left != nil {
		return nil, &operator.Error{Kind: operator.Refused, Op: "guest", Msg: fmt.Sprintf("%s has just been taken out of team %s", n.Name, name)}
	}
	g.Name, g.Instance = m.Name, m.Instance
	g.Early = !slices.ContainsFunc(cfg.Members, func(e team.Member) bool {
		_, ours := g.State.Lead.Member(e.Name)
		return !e.IsLead() && !ours
	})
	return g, o.bound(ctx, g.State, n.Mode)
}

// guestEntry updates the guest's entry in the registry.
func (o Operator) guestEntry(ctx context.Context, s *operator.State, cfg *team.Config, n NewGuest) (registered bool, err error) {
	e, listed := cfg.Member(n.Name)
	listed = listed && !e.Gone()
	m, known := s.Lead.Member(n.Name)
	known = known && m.Left == nil
	switch {
	case listed && known:
		return false, nil
	case listed:
		return false, &operator.Error{Kind: operator.Refused, Op: "guest", Msg: fmt.Sprintf("%s in team %s was not registered here: it is another program's member", n.Name, cfg.Name),
			Advice: "take another name"}
	}
	_, _, err = mail.Of(o.Operator).Register(ctx, cfg.Name, team.Member{Name: n.Name, AgentType: "general-purpose", Cwd: n.Cwd, JoinedAt: o.Minter.Now(), Subscriptions: []string{}}, false)
	return err == nil, err
}

// bound records what a guest may do without asking its lead: what a mode allows, within the user's
// ceiling.
func (o Operator) bound(ctx context.Context, s *operator.State, mode policy.Mode) error {
	if mode == "" {
		mode = policy.ModeDefault
	}
	return mail.Of(o.Operator).Append(ctx, s, func() ([]journal.Draft, error) {
		now := s.Lead.Policy
		want := now
		want.Policy.Mode, want.Ceiling, want.By = mode, decide.Of(o.Operator).CeilingOf(now.Ceiling), policy.RoleOperator
		if now.Policy.Version > 0 && now.Policy.Mode == mode && now.Ceiling.Same(want.Ceiling) {
			return nil, nil
		}
		want.Policy.Version++
		return []journal.Draft{{Kind: record.KindPolicy, Must: true, Body: want}}, nil
	})
}

// Run works in the team until its lead has asked the guest to end and it has agreed, it is removed
// from the registry, or ctx ends. A guest that has agreed removes its own entry: another program's
// lead does not remove a member that it did not start.
func (g *Guest) Run(ctx context.Context, wo worker.Options) error {
	wo.Root, wo.Team, wo.State, wo.Instance, wo.Minter, wo.Version, wo.Guest = g.o.Root, g.State.Team, g.State.Dir, g.Instance, g.o.Minter, g.o.Version, &g.guest
	if wo.Dir == "" {
		wo.Dir = g.guest.Cwd
	}
	w, err := worker.Open(ctx, wo)
	if err != nil {
		return err
	}
	err = w.Run(ctx)
	if err = errors.Join(err, w.Close()); err != nil {
		return err
	}
	err = g.o.Remove(context.WithoutCancel(ctx), g.State.Team, string(g.Name))
	var missing *team.NotFoundError
	if errors.As(err, &missing) || errors.Is(err, os.ErrNotExist) {
		return nil // its lead, or the end of the team, removed it first
	}
	return err
}
