package supervise

import (
	"context"
	"time"

	"waggle/operator"
	"waggle/operator/process"
	"waggle/protocol"
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
