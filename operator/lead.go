package operator

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"waggle"
	"waggle/control"
	"waggle/journal"
)

// enlistLead gives the agent that a file names as lead its membership: a worker of its
// own, whose name and mailbox are the lead's. It is done once in the life of a team: one
// that was stopped stays so.
func (o Operator) enlistLead(ctx context.Context, s *State, f *File, attended bool) (err error) {
	if f.Lead == nil {
		return nil
	}
	if _, ok := s.Lead.Member(waggle.Lead); ok {
		return nil
	}
	m := *f.Lead
	if m.Backend, err = o.resolveBackend(ctx, m.Backend, attended); err != nil {
		return err
	}
	i, err := o.joinLead(ctx, s, m)
	if err != nil || m.Mode == "" {
		return err
	}
	return o.setMode(ctx, s, i, m.Mode)
}

// joinLead puts the membership on record. The registry has the lead already, and keeps
// it when its agent leaves.
func (o Operator) joinLead(ctx context.Context, s *State, m FileMember) (control.Instance, error) {
	id, err := o.Minter.UID()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Join(o.Root.MemberDir(s.Team, waggle.Lead), "artifacts"), 0o700); err != nil {
		return "", fmt.Errorf("join %s: %w", m.Name, err)
	}
	i := control.Instance(id)
	_, err = s.Journal.Append(ctx, o.writer(), func() ([]journal.Draft, error) {
		return []journal.Draft{{Kind: control.RecJoined, Must: true, Body: control.Joined{Instance: i, Name: waggle.Lead, Lead: string(m.Name), Color: m.Color,
			Agent: m.Agent, Spec: m.Spec, Cwd: m.Cwd, PlanRequired: m.PlanRequired, Model: m.Model, Mode: m.Mode, Restart: m.Restart, Backend: m.Backend,
			Trust: control.Cooperative}}}, nil
	})
	return i, err
}

// called reports a member by its name, or the agent behind the lead by what the team
// file calls it.
func called(m *control.Member, name string) bool {
	return waggle.SameName(m.Name, waggle.MemberName(name)) || m.Leads() && waggle.SameName(waggle.MemberName(m.Joined.Lead), waggle.MemberName(name))
}

// leadRest is how long a job that is over waits for the lead's agent to take what is for
// it, while no turn of it runs.
const leadRest = 10 * time.Second

// led reports whether the lead's agent was given the results of a job that is over, and
// has done with them.
func (r *run) led(ctx context.Context) bool {
	settled, busy, err := r.l.LeadSettled(ctx)
	r.warn("the lead's mailbox cannot be looked into", err)
	now := r.o.Minter.Now()
	if busy || r.restless.IsZero() {
		r.restless = now
	}
	return settled || now.Sub(r.restless) >= leadRest
}

// agentLeads reports that an agent reads the lead's mailbox, and no person has to.
func agentLeads(s *State) bool {
	if s == nil {
		return false
	}
	_, ok := s.Lead.LeadAgent()
	return ok
}

// leadOf is an address with the lead's own name where it names the agent behind the lead
// as the team file does.
func leadOf(s *State, a waggle.Address) waggle.Address {
	if s == nil || a.Scheme != waggle.SchemeMember {
		return a
	}
	if m, ok := s.Lead.LeadAgent(); ok && called(m, string(a.Member)) {
		a.Member = m.Name
	}
	return a
}

// ofLead reports a question that the lead's agent asks, which is the operator's to answer.
func (k *looker) ofLead(c *control.Call) bool {
	m, ok := k.s.Lead.ByInstance(c.Instance)
	return ok && m.Leads()
}
