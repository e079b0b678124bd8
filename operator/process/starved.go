package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"waggle/control"
	"waggle/operator"
	"waggle/poll"
	"waggle/record"
	"waggle/spawn"
)

// short reports an error of a machine that lacks a resource, or of a STATE that this user may not write, so that nothing
// can be recorded now. Processes are ended all the same.
func short(err error) bool { return poll.Lack(err) != nil || errors.Is(err, fs.ErrPermission) }

// lack returns the missing resource.
func lack(err error) error { return cmp.Or(poll.Lack(err), err) }

// stopUnrecorded ends the processes of one member when its end cannot be recorded.
func (o Operator) stopUnrecorded(ctx context.Context, s *operator.State, m *control.Member, so StopOptions, why error) (*MemberEnd, error) {
	return o.endUnrecorded(ctx, s, m, so, fmt.Sprintf("nothing can be recorded: %v", lack(why)),
		operator.Note{Text: fmt.Sprintf("its end is not on record, so that it may be started again: %v", lack(why)), Next: operator.Next{Step: operator.NextStopAgain, Member: m.Name}})
}

// endUnrecorded ends the processes of one member, unless they are those of another process: why says then why its end
// cannot be recorded. trouble is noted.
func (o Operator) endUnrecorded(ctx context.Context, s *operator.State, m *control.Member, so StopOptions, why string, trouble operator.Note) (*MemberEnd, error) {
	if p := m.Process; p != nil && p.ID.Inside && p.ID.Alive() {
		return nil, &operator.Error{Kind: operator.Failed, Op: "stop", Msg: fmt.Sprintf("%s runs inside process %d, and %s", m.Name, p.ID.PID, why),
			Next: operator.Next{Step: operator.NextDownForce, Team: s.Team}}
	}
	rung, err := o.EndDamagedMember(ctx, s, m)
	if err != nil {
		return nil, err
	}
	trouble.What, trouble.Member = "trouble", string(m.Name)
	so.note(trouble)
	how := record.LeftStopped
	if rung == spawn.RungGone {
		how = record.LeftDied
	}
	return &MemberEnd{Member: string(m.Name), How: how, Step: rung, Forced: true}, nil
}

// downUnrecorded ends the processes of a team when its end cannot be recorded: the one that leads
// first, which would restart others.
func (o Operator) downUnrecorded(ctx context.Context, s *operator.State, so StopOptions, why error) (*DownResult, error) {
	if err := o.StopLeading(ctx, s); err != nil {
		return nil, errors.Join(why, err)
	}
	mem, err := o.salvage(ctx, s.Dir, s.Team, why) // the records on disk, with a journal in memory
	if mem == nil {
		return nil, errors.Join(why, err)
	}
	Sweeps(mem, so.Note)
	if err := o.EndDamagedMembers(ctx, mem); err != nil {
		return nil, errors.Join(why, err)
	}
	if err := o.Sweep(ctx, mem, so.Note); err != nil {
		so.note(operator.Note{What: "trouble", Text: err.Error()})
	}
	so.note(operator.Note{What: "trouble", Text: fmt.Sprintf("its processes have ended, and that is not on record: %v", lack(why)), Next: operator.Next{Step: operator.NextDownAgain, Team: s.Team}})
	d := &DownResult{Team: string(s.Team), State: "ended", Members: []MemberEnd{}, Worktrees: []operator.KeptWorktree{}}
	for _, m := range mem.Lead.Members {
		d.Members = append(d.Members, endOf(m))
	}
	return d, nil
}
