package inspect

import (
	"context"
	"errors"

	"waggle/control"
	"waggle/machine"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/process"
	"waggle/protocol"
	"waggle/record"
)

// Glance is all teams and sessions in three numbers, for a line that is drawn often.
type Glance struct {
	Waiting int `json:"waiting"` // open requests, and idle members whose work waits for a merge: refused, or its conflict is resolved
	Working int `json:"working"` // members that run a turn and wait for nothing
	Failed  int `json:"failed"`  // members whose process is gone, and tasks that failed and were not assigned anew
}

// Glance counts over one team, or with "" over every team that waggle leads here and every session.
// It reads the leaders' journals and no other, and the records of the worktrees of idle members, takes
// no lock, and records nothing: what a leader has not recorded yet is not in it. A team that cannot be
// read is left out; the error has it.
func (o Operator) Glance(ctx context.Context, only protocol.TeamName) (g Glance, err error) {
	names := []protocol.TeamName{only}
	var errs []error
	if only == "" {
		if names, err = o.Root.Names(); err != nil {
			return g, err
		}
		_, open, err := decide.Of(o.Operator).Sessions()
		g.Waiting += len(open)
		errs = append(errs, err)
	}
	for _, name := range names {
		s, err := o.Open(ctx, name, operator.Brief)
		switch {
		case operator.Unled(err):
		case err != nil:
			errs = append(errs, err)
		case s.Lead.Ended == nil:
			g.add(s.Lead)
			g.Waiting += o.unmerged(ctx, s)
		}
	}
	return g, errors.Join(errs...)
}

// add counts one team.
func (g *Glance) add(l *control.Leader) {
	g.Waiting += len(l.Pending())
	for _, m := range l.Live() {
		switch {
		case isDead(m):
			g.Failed++
		case !isGone(m) && !m.InQueue() && m.State() == machine.Busy:
			g.Working++
		}
		g.Failed += failedTurns(l, m)
	}
}

// isGone reports a member whose process has ended, isDead one whose process nobody has ended.
func isGone(m *control.Member) bool { return m.Process != nil && !m.Process.ID.Alive() }

func isDead(m *control.Member) bool {
	return isGone(m) && m.Trust != record.FileTrust && m.Stopping == nil && !m.Approved
}

// failedTurns is how many tasks of a member failed and were not assigned anew.
func failedTurns(l *control.Leader, m *control.Member) (n int) {
	for id := range m.Turns {
		if order, ok := l.Assignment(id); ok && order.Instance == m.Instance && m.Done[id] == nil {
			n++
		}
	}
	return n
}

// unmerged counts members whose last merge was refused, and those that have resolved its conflict since.
// As in the list of the full screen, each member needs a person once: not one that works, whose request
// is open, or that counts as failed.
func (o Operator) unmerged(ctx context.Context, s *operator.State) (n int) {
	of := process.Of(o.Operator).Merging(s)
	for _, m := range s.Lead.Live() {
		if m.Worktree == nil || m.State() != machine.Idle || isGone(m) || failedTurns(s.Lead, m) > 0 {
			continue
		}
		if r, err := of.Refused(ctx, m); err == nil && r != nil || of.Resolved(ctx, m) {
			n++
		}
	}
	return n
}
