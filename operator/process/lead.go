package process

import (
	"context"
	"errors"

	"waggle/control"
	"waggle/journal"
	"waggle/leader"
	"waggle/operator"
	"waggle/operator/mail"
	"waggle/spawn"
)

// Lead takes the leader lease of a team and leads the team until Close. A member whose
// process dies is recorded as left and is not restarted.
func (o Operator) Lead(ctx context.Context, s *operator.State) (*leader.Leader, error) {
	return o.LeadAs(ctx, s, o.LeaderOptions(s, true))
}

// LeadAs takes the leader lease. It waits for a command that leads for one pass, and not for a
// process that leads.
func (o Operator) LeadAs(ctx context.Context, s *operator.State, lo leader.Options) (l *leader.Leader, err error) {
	settled := o.Await(ctx, leaseWait, func() bool {
		if l, err = leader.Open(ctx, lo); !errors.Is(err, leader.ErrLeading) {
			return true
		}
		if rerr := s.Journal.Refresh(ctx); rerr != nil {
			err = errors.Join(err, operator.Unpassing(rerr))
			return true
		}
		return s.Lead.Led != nil && s.Lead.Led.ID.Alive()
	})
	if !settled && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return l, err
}

// LeaderOptions returns the options of a leader: for a job, or to keep the team up.
func (o Operator) LeaderOptions(s *operator.State, job bool) leader.Options {
	return leader.Options{Root: o.Root, State: s.Dir, Team: s.Team, Minter: o.Minter, Log: o.Log, Observe: o.Observe, Agent: o.Agent,
		Dismiss: job, Supervise: !job, Patience: o.Patience,
		Input:   func(ctx context.Context, id spawn.Identity) error { return o.closeInput(ctx, s, id) },
		Rest:    func(ctx context.Context, m *control.Member) (string, error) { return o.endMarked(ctx, s, m) },
		Writer:  journal.Writer{Instance: string(s.Lead.Instance), Epoch: s.Lead.Epoch, PID: o.PID},
		Sockets: s.Dir.Sockets(o.RunPath()), Who: mail.SessionsOf(o.ClaudeDir)}
}
