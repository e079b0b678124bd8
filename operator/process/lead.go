package process

import (
	"context"
	"errors"
	"time"

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
func (o Operator) LeadAs(ctx context.Context, s *operator.State, lo leader.Options) (*leader.Leader, error) {
	late := time.NewTimer(leaseWait)
	defer late.Stop()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		l, err := leader.Open(ctx, lo)
		if !errors.Is(err, leader.ErrLeading) {
			return l, err
		}
		if rerr := s.Journal.Refresh(ctx); rerr != nil {
			return nil, errors.Join(err, operator.Unpassing(rerr))
		}
		if p := s.Lead.Led; p != nil && p.ID.Alive() {
			return nil, err
		}
		select {
		case <-again.C:
		case <-late.C:
			return nil, err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
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
