package supervise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"waggle/control"
	"waggle/operator"
	"waggle/operator/board"
	"waggle/operator/decide"
	"waggle/operator/process"
	"waggle/operator/teamfile"
	"waggle/protocol"
	"waggle/record"
	"waggle/task"
)

// NewMember is a member to start in a team that is up.
type NewMember struct {
	teamfile.FileMember
	Prompt  string // its first task; "": it waits for work
	Subject string // of that task; "": its first line
	// Quoted: the prompt has words of others than the operator, and so is not on record as the operator's.
	Quoted bool
	// Unchecked keeps the check of the team's file from deciding its tasks.
	Unchecked bool
}

// Spawned is a member that was started.
type Spawned struct {
	Team    string        `json:"team"`
	Name    string        `json:"name"`
	Session string        `json:"session"`
	PID     int           `json:"pid"`
	Backend string        `json:"backend"`
	Task    string        `json:"task"`
	Ready   *record.Ready `json:"ready"` // as its journal has it
	// Queue is its place in the queue when it joined: the process that leads starts it. 0: it is not queued.
	Queue int `json:"-"`
	// Worktree is its own git worktree; nil: it has none.
	Worktree *record.Worktree    `json:"-"`
	Prepare  *record.Preparation `json:"-"` // of that worktree; nil: it has none
}

// Spawn makes a new member of a running team and starts it as start says. Its prompt is in its mailbox before its
// process starts. When it does not become ready, or differs from what was asked for, it is ended again, and the error
// has the reason. Without start it has joined, and its prompt is ordered: Begin starts it.
func (o Operator) Spawn(ctx context.Context, name protocol.TeamName, m NewMember, start *LeadOptions) (*Spawned, error) {
	s, err := o.openFor(ctx, name, m)
	if err != nil {
		return nil, err
	}
	full, err := o.full(s, m)
	if err != nil {
		return nil, err
	}
	sp := &Spawned{Team: string(name)}
	ms, err := o.raise(ctx, s, plan{
		join: func(ctx context.Context) ([]*control.Member, error) {
			i, err := o.enlist(ctx, s, full, start != nil && start.Attended, false)
			ms, err := entered(s, i, err)
			if err == nil {
				sp.joined(s, ms[0])
				err = o.orderFirst(ctx, s, ms[0], m, sp)
			}
			return ms, err
		},
		start: start,
		undo:  func(ctx context.Context, ms []*control.Member, _ error) error { return o.dismiss(ctx, s, ms, sp.Task) },
	})
	if err == nil && start != nil {
		if err = sp.started(s, ms[0]); err != nil {
			err = errors.Join(err, o.dismiss(ctx, s, ms, sp.Task))
		}
	}
	if err != nil {
		return nil, err
	}
	return sp, nil
}

// openFor opens a team that a new member may join.
func (o Operator) openFor(ctx context.Context, name protocol.TeamName, m NewMember) (*operator.State, error) {
	s, err := o.Open(ctx, name, operator.Lead("spawn"))
	if err != nil {
		return nil, err
	}
	if m.Backend == operator.BackendInProcess {
		return nil, &operator.Error{Kind: operator.Usage, Op: "spawn", Msg: "this command ends, and a member inside it would end with it", Next: operator.NextSpawnProcess.With()}
	}
	if err := o.admit(ctx, s, "spawn"); err != nil {
		return nil, err
	}
	if top := s.Lead.Policy.Ceiling; m.Mode != "" && top.Meet(m.Mode) != m.Mode {
		return nil, &record.CeilingError{Ceiling: top, Over: []string{"mode " + string(m.Mode)}}
	}
	return s, nil
}

// admit returns nil when a member may join a team, or return to it, under the ceiling that holds now.
func (o Operator) admit(ctx context.Context, s *operator.State, op string) error {
	if s.Lead.Closing != nil {
		return &operator.Error{Kind: operator.Refused, Op: op, Msg: fmt.Sprintf("team %s is being ended", s.Team)}
	}
	if o.Leading != nil {
		return nil // the ceiling is the operator's to set
	}
	_, err := decide.Of(o.Operator).Adopt(ctx, s)
	return err
}

// full is a new member with what the team's file says of members that are added to it.
func (o Operator) full(s *operator.State, m NewMember) (teamfile.FileMember, error) {
	full := m.FileMember
	full.Prompt = cmp.Or(full.Prompt, m.Prompt)
	checked := m.Checks() && !m.Unchecked
	if (!m.Worktree || full.Prepare != nil) && (!checked || full.Check != nil) {
		return full, nil
	}
	f, err := o.from(s)
	if m.Worktree {
		full.Prepare = cmp.Or(full.Prepare, f.Prepare)
	}
	if checked {
		full.Check = cmp.Or(full.Check, f.Check)
	}
	return full, err
}

// joined describes a member that has joined.
func (sp *Spawned) joined(s *operator.State, m *control.Member) {
	sp.Name, sp.Session, sp.Backend, sp.Worktree, sp.Prepare = string(m.Name), string(m.Instance), m.Backend, m.Worktree, m.Prepare
	if m.Joined.Queued {
		sp.Queue = max(1, s.Lead.Place(m))
	}
}

// Begin starts a member that Spawn has joined, and waits until it is ready. A member whose setup
// failed stays in the team, blocked; one whose process ended is restarted by the process that leads;
// one that differs from what was asked for is ended again.
func (o Operator) Begin(ctx context.Context, name protocol.TeamName, member protocol.MemberName, lo LeadOptions) error {
	s, err := o.Open(ctx, name, operator.Lead("begin"))
	if err != nil {
		return err
	}
	_, err = o.raise(ctx, s, plan{
		join: func(context.Context) ([]*control.Member, error) {
			m, err := decide.Member(s, string(member))
			if err != nil || s.Lead.Closing != nil || m.Stopping != nil || running(m) {
				return nil, err // it is being ended, or another process has started it
			}
			return []*control.Member{m}, nil
		},
		start: &lo,
		undo: func(ctx context.Context, ms []*control.Member, cause error) error {
			if _, ok := errors.AsType[*ContractError](cause); !ok {
				return nil
			}
			ordered := ""
			for _, order := range s.Lead.Assignments() {
				if order.Instance == ms[0].Instance {
					ordered = order.Commanded.Task.ID
				}
			}
			return o.dismiss(ctx, s, ms, ordered)
		},
	})
	return err
}

// orderFirst orders the prompt of a new member.
func (o Operator) orderFirst(ctx context.Context, s *operator.State, jm *control.Member, m NewMember, sp *Spawned) error {
	if m.Prompt == "" {
		return nil
	}
	r, err := board.Of(o.Operator).AddTask(ctx, s.Team, board.NewTask{Subject: cmp.Or(m.Subject, firstLine(m.Prompt)), Description: m.Prompt, Owner: jm.Name, Typed: !m.Quoted})
	if r != nil {
		sp.Task = string(r.Task.ID)
	}
	if err != nil || sp.Queue > 0 {
		return err // in the queue it is there long before the member starts
	}
	return o.awaitOrder(ctx, s, sp.Task)
}

// dismiss ends members that could not be brought up, and removes their task, where they have one: they do not stay in the team.
func (o Operator) dismiss(ctx context.Context, s *operator.State, ms []*control.Member, ordered string) (err error) {
	ctx = context.WithoutCancel(ctx)
	for _, m := range ms {
		if _, serr := process.Of(o.Operator).Stop(ctx, s.Team, string(m.Name), process.StopOptions{Force: true}); serr != nil {
			err = errors.Join(err, fmt.Errorf("end it again: %w", serr))
		}
	}
	if ordered != "" {
		if terr := board.Of(o.Operator).RemoveTask(ctx, s.Team, task.ID(ordered)); terr != nil {
			err = errors.Join(err, fmt.Errorf("take its task off the board: %w", terr))
		}
	}
	return err
}

// started reads the process of a member that is ready. m may be from before a rebuild of the fold,
// which another writer of the journal can cause.
func (sp *Spawned) started(s *operator.State, m *control.Member) error {
	if now, ok := s.Lead.ByInstance(m.Instance); ok {
		m = now
	}
	w, err := s.Worker(m.Instance)
	if err != nil {
		return err
	}
	if m.Process != nil {
		sp.PID = m.Process.ID.PID
	}
	sp.Ready = w.Ready
	return nil
}

// orderWait is how long a start waits for its order to be in the mailbox.
const orderWait = 2 * time.Second

// awaitOrder waits until the order of a task is in its owner's mailbox, where the process that
// leads puts it. When a lock delays that, the member gets its order while it runs.
func (o Operator) awaitOrder(ctx context.Context, s *operator.State, id string) (err error) {
	process.Of(o.Operator).Await(ctx, orderWait, func() bool {
		if err = s.Journal.Refresh(ctx); err != nil {
			return true
		}
		order, ok := s.Lead.Assignment(id)
		return ok && order.Sent
	})
	return err
}

// firstLine returns a subject for a prompt.
func firstLine(s string) string {
	for i, r := range s {
		if r == '\n' || i >= 80 {
			return s[:i]
		}
	}
	return s
}
