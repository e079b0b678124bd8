package supervise

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"waggle/operator"
	"waggle/operator/process"
	"waggle/operator/teamfile"
	"waggle/protocol"
	"waggle/record"
)

// enlistLead joins the agent that a file names as lead: a worker of its own with the lead's name
// and mailbox. A team does so once; an agent that was stopped stays stopped.
func (o Operator) enlistLead(ctx context.Context, s *operator.State, t fileTeam) error {
	if t.file.Lead == nil {
		return nil
	}
	if _, ok := s.Lead.Member(protocol.Lead); ok {
		return nil
	}
	m := *t.file.Lead
	if t.headless {
		m.Backend = process.Alone(m)
	}
	_, err := o.enlist(ctx, s, m, t.attended, true)
	return err
}

// joinLead records the membership. The registry has the lead already, and keeps it when its agent
// leaves.
func (o Operator) joinLead(ctx context.Context, s *operator.State, m teamfile.FileMember) (record.Instance, error) {
	id, err := o.Minter.UID()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Join(o.Root.MemberDir(s.Team, protocol.Lead), "artifacts"), 0o700); err != nil {
		return "", fmt.Errorf("join %s: %w", m.Name, err)
	}
	i := record.Instance(id)
	return i, s.Put(ctx, o.Writer(), record.KindJoined, record.Joined{Instance: i, Name: protocol.Lead, Lead: string(m.Name), Color: m.Color,
		Agent: m.Agent, Spec: m.Spec, Cwd: m.Cwd, RealCwd: process.RealCwd(m.Sandbox, m.Cwd), PlanRequired: m.PlanRequired, Model: m.Model, Mode: m.Mode, Restart: m.Restart, Backend: m.Backend,
		Trust: m.Sandbox.Trust(), Sandbox: m.Sandbox, Provenance: record.Spawned, Definition: m.Definition})
}

// leadRest is how long a completed job waits, without a running turn, for the lead's agent to take
// its messages.
const leadRest = 10 * time.Second

// led reports whether the lead's agent got the results of a completed job, and has no turn left.
func (r *run) led(ctx context.Context) bool {
	settled, busy, err := r.l.LeadSettled(ctx)
	r.warn("the lead's mailbox cannot be looked into", err)
	now := r.o.Minter.Now()
	if busy || r.restless.IsZero() {
		r.restless = now
	}
	return settled || now.Sub(r.restless) >= leadRest
}
