package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"waggle/control"
	"waggle/journal"
	"waggle/leader"
	"waggle/operator"
	"waggle/operator/mail"
	"waggle/spawn"
	"waggle/transport"
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

// AskLeader asks the process that leads a team whether it does, by a ping at the operator's socket, which that very
// process must serve, as the kernel says (trust §5). leads is false when no process leads any more: a process that was
// killed counts as running, holds its lease and its socket, until the last of its threads has ended. A process that is
// stopped, or does not answer in time, is an error; so is one that cannot read its journal. One that serves no socket
// is watched for as long as a process that was killed may take.
func (o Operator) AskLeader(ctx context.Context, s *operator.State) (leads bool, err error) {
	l := s.Lead.Led
	if l == nil {
		return false, nil
	}
	path, token, by, served := s.Dir.Sockets(o.RunPath()).At(transport.OperatorSocket)
	limit, last, begun := o.Waits.Answering(), error(nil), o.Minter.Now()
	if !served {
		limit = min(limit, leaseWait)
	}
	late, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	settled := o.Await(late, limit, func() bool {
		state, _ := l.ID.State() // what cannot be read is asked
		switch {
		case state == spawn.Gone:
			return true
		case state == spawn.Stopped:
			err = &operator.Error{Kind: operator.Locked, Op: "lead", Msg: fmt.Sprintf("process %d leads team %s and is stopped (SIGSTOP, or a debugger)", l.ID.PID, s.Team),
				Advice: fmt.Sprintf("kill -CONT %d lets it go on", l.ID.PID)}
			return true
		case served:
			last = pinged(late, path, token, l.ID.PID)
			leads = last == nil
			missing := errors.As(last, new(*transport.NotFoundError))
			nobody := missing && by != l.ID.PID // what an earlier process has left
			served = !nobody && !errors.Is(last, errors.ErrUnsupported)
			if (missing || errors.As(last, new(*transport.NotSocketError))) && served && o.Minter.Now().Sub(begun) > leaseWait {
				err = noAnswer(s, l.ID.PID, last) // its socket was removed: it cannot answer any more
			}
			if r, ok := errors.AsType[*transport.RemoteError](last); ok && r.Code == transport.CodeFailed {
				err = &operator.Error{Kind: operator.Failed, Op: "lead", Msg: fmt.Sprintf("process %d leads team %s and cannot go on: %v", l.ID.PID, s.Team, last),
					Next: operator.Next{Step: operator.NextStatusTeam, Team: s.Team}}
			}
		}
		return leads || err != nil
	})
	switch {
	case settled:
		return leads, err
	case !served && l.ID.Alive(): // nothing can be asked
		return o.IsLed(s)
	case !l.ID.Alive():
		return false, nil
	}
	return false, cmp.Or(ctx.Err(), noAnswer(s, l.ID.PID, last))
}

// noAnswer is the error of a process that leads and does not answer.
func noAnswer(s *operator.State, pid int, why error) error {
	return &operator.Error{Kind: operator.Timeout, Op: "lead", Msg: fmt.Sprintf("process %d leads team %s and does not answer: %v", pid, s.Team, why),
		Next: operator.Next{Step: operator.NextStatusTeam, Team: s.Team}}
}

// pinged asks the process with this pid at a socket; nil: it has answered.
func pinged(ctx context.Context, path, token string, pid int) error {
	c, err := transport.Dial(ctx, path, token)
	if err != nil {
		return err
	}
	defer c.Close()
	if c.PID() != pid {
		return fmt.Errorf("%s is served by process %d, not by %d", path, c.PID(), pid)
	}
	return c.Ping(ctx)
}
