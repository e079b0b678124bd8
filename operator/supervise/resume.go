package supervise

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"waggle/control"
	"waggle/operator"
	"waggle/operator/board"
	"waggle/operator/decide"
	"waggle/operator/mail"
	"waggle/operator/process"
	"waggle/operator/teams"
	"waggle/protocol"
	"waggle/record"
	"waggle/task"
)

// Values of ResumeMember.Do.
const (
	ResumeStart = "start" // its process is gone: it is restarted, with the same session id
	ResumeTake  = "take"  // its process runs, and is supervised without a restart
	ResumeLeave = "leave" // waggle does not run it, or it is being ended
)

// ResumePlan is what a resume of a team would do.
type ResumePlan struct {
	Team    string         `json:"team"`
	Led     bool           `json:"led"` // a process leads it
	PID     int            `json:"pid"` // of that process; 0: none is on record
	Members []ResumeMember `json:"members"`
	Halted  bool           `json:"halted"` // all work is stopped, and would go on
	// Changed says that the team file differs from the accepted one.
	Changed     bool     `json:"file_changed"`
	File        string   `json:"file"`
	Tasks       int      `json:"open_tasks"`
	Undelivered int      `json:"undelivered"` // messages in mailboxes that were not taken
	Pending     []string `json:"pending"`     // ids of open requests: they stay open
	Unknown     []string `json:"unknown"`     // calls that were started and have no recorded end: they are not run again
	// Leftover are running commands of dead processes: their end will not be recorded.
	Leftover []string `json:"leftover"`
}

// ResumeMember is one member of the plan.
type ResumeMember struct {
	Name    string `json:"name"`
	Action  string `json:"action"`
	Session string `json:"session"` // its instance
	PID     int    `json:"pid"`
	Why     string `json:"why"`
}

// Starts counts the members that would be started.
func (p *ResumePlan) Starts() (n int) {
	for _, m := range p.Members {
		if m.Action == ResumeStart {
			n++
		}
	}
	return n
}

// PlanReturn is what a resume of one member would do: of one that has left, or of one that is there.
func (p *ResumePlan) PlanReturn(s *operator.State, name string) {
	if m, ok := operator.Departed(s, name); ok {
		p.Members = []ResumeMember{{Name: string(m.Name), Action: ResumeStart, Session: string(m.Instance), Why: "it left: " + m.Left.How}}
		if why := operator.Unreturning(m); why != "" {
			p.Members[0].Action, p.Members[0].Why = ResumeLeave, "it left, and is not started again: "+why
		}
		return
	}
	p.Members = slices.DeleteFunc(p.Members, func(m ResumeMember) bool {
		return !protocol.SameName(protocol.MemberName(m.Name), protocol.MemberName(name))
	})
}

// PlanResume returns what a resume would do. It changes nothing.
func (o Operator) PlanResume(ctx context.Context, name protocol.TeamName) (*operator.State, *ResumePlan, error) {
	s, err := o.Open(ctx, name, operator.Act)
	if err != nil {
		return nil, nil, err
	}
	p := &ResumePlan{Team: string(name), Halted: s.Lead.Halt != nil, Members: []ResumeMember{}, Pending: []string{}, Unknown: []string{}, Leftover: []string{}}
	if p.Led, err = process.Of(o.Operator).IsLed(s); err != nil {
		return nil, nil, err
	}
	if l := s.Lead.Led; l != nil && p.Led && l.ID.Alive() {
		p.PID = l.ID.PID
	}
	for _, m := range s.Lead.Live() {
		p.Members = append(p.Members, resumeMember(m))
		w, err := s.Worker(m.Instance)
		if operator.Broken(err) {
			p.Members[len(p.Members)-1].Why = err.Error() // only this member cannot be resumed
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("journal of %s: %w", m.Name, err)
		}
		for _, c := range w.Calls {
			if c.Started && c.Finished == nil && (c.Unknown || c.Epoch < w.Epoch || !running(m)) {
				p.Unknown = append(p.Unknown, fmt.Sprintf("%s %s: %s", m.Name, c.ID, decide.Describe(c.Kind, c.Ask)))
			}
		}
		if in, err := mail.Of(o.Operator).Inbox(ctx, s.Team, m.Name, true); err == nil { // an unreadable mailbox counts as empty
			p.Undelivered += len(in.Entries)
		} else if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
	}
	for _, q := range s.Lead.Pending() {
		p.Pending = append(p.Pending, string(q.ID))
	}
	if p.Tasks, err = o.openTasks(ctx, s); err != nil {
		return nil, nil, err
	}
	left, err := process.Of(o.Operator).GC(ctx, name, false)
	if err != nil {
		return nil, nil, err
	}
	for _, g := range left.Found {
		if g.Kind == process.GarbageCommand {
			p.Leftover = append(p.Leftover, fmt.Sprintf("%s: pid %d (%s)", g.Member, g.PID, g.Argv))
		}
	}
	f, err := o.Accepted(s)
	if err != nil {
		return nil, nil, err
	}
	for _, m := range missing(s, f) {
		p.Members = append(p.Members, ResumeMember{Name: string(m.Name), Action: ResumeStart, Why: "it had not joined"})
	}
	p.File = f.Path
	p.Changed, err = f.Changed()
	return s, p, err
}

func running(m *control.Member) bool { return m.Process != nil && m.Process.ID.Alive() }

func resumeMember(m *control.Member) ResumeMember {
	r := ResumeMember{Name: string(m.Name), Session: string(m.Instance)}
	if m.Process != nil {
		r.PID = m.Process.ID.PID
	}
	switch {
	case m.Trust == record.FileTrust:
		r.Action, r.Why = ResumeLeave, "waggle does not run it"
	case m.Stopping != nil || m.Approved:
		r.Action, r.Why = ResumeLeave, "it was being ended"
	case m.InQueue():
		r.Action, r.Why = ResumeLeave, "it is in the queue"
	case running(m):
		r.Action, r.Why = ResumeTake, fmt.Sprintf("process %d runs", r.PID)
	case m.Died != nil && m.Died.Detail != "":
		r.Action, r.Why = ResumeStart, m.Died.Detail
	case m.Process == nil:
		r.Action, r.Why = ResumeStart, "it had not come up"
	default:
		r.Action, r.Why = ResumeStart, fmt.Sprintf("process %d is gone", r.PID)
	}
	return r
}

func (o Operator) openTasks(ctx context.Context, s *operator.State) (n int, err error) {
	list, err := board.Of(o.Operator).Tasks(ctx, s.Team, false)
	if err != nil {
		return 0, ctx.Err() // a resume does not need the board
	}
	for _, t := range list.Tasks {
		if t.Status == task.Pending || t.Status == task.InProgress {
			n++
		}
	}
	return n, nil
}

// Absent returns an error that names the members of a resumed team that do not run; nil when all
// run.
func Absent(s *operator.State) error {
	var names []string
	for _, m := range restartable(s) {
		names = append(names, string(m.Name))
	}
	if len(names) == 0 {
		return nil
	}
	return &operator.Error{Kind: operator.Died, Op: "resume", Msg: "did not start: " + strings.Join(names, ", "), Next: operator.Next{Step: operator.NextWhyRestart, Member: protocol.MemberName(names[0])}}
}

// ErrNotLed: the process that led a team is gone.
var ErrNotLed = errors.New("the process that led the team has just ended")

// Restart starts the members of a team that do not run, beside the process that leads it. It asks that process before
// and after (process.AskLeader); ErrNotLed: the team is to be planned again.
func (o Operator) Restart(ctx context.Context, s *operator.State, lo LeadOptions) error {
	if err := o.beside(ctx, s); err != nil {
		return err
	}
	ms, err := o.raise(ctx, s, plan{start: &lo, join: func(context.Context) ([]*control.Member, error) { return restartable(s), nil }})
	if err != nil || len(ms) == 0 {
		return err
	}
	return o.askLeader(ctx, s)
}

// beside returns nil when the operator may resume members of a team that another process leads.
func (o Operator) beside(ctx context.Context, s *operator.State) error {
	if err := o.Guard(ctx, s, "resume"); err != nil {
		return err
	}
	return o.askLeader(ctx, s)
}

// askLeader returns nil when the process that leads says so.
func (o Operator) askLeader(ctx context.Context, s *operator.State) error {
	leads, err := process.Of(o.Operator).AskLeader(ctx, s)
	if err == nil && !leads {
		err = ErrNotLed
	}
	return err
}

// RestartMember starts one member of a team that is led, when its process does not run. One that has left is a member
// again, in its session and worktree (teams.Return); when it does not become ready, it leaves again.
func (o Operator) RestartMember(ctx context.Context, s *operator.State, name string, lo LeadOptions) (started bool, err error) {
	err = o.beside(ctx, s)
	if errors.Is(err, ErrNotLed) {
		err = &operator.Error{Kind: operator.Refused, Op: "resume", Msg: fmt.Sprintf("no process leads team %s, so no member is started alone", s.Team),
			Next: operator.Next{Step: operator.NextResumeTeam, Team: s.Team}}
	}
	if err != nil {
		return false, err
	}
	was, left := operator.Departed(s, name)
	ms, err := o.raise(ctx, s, plan{
		join: func(ctx context.Context) ([]*control.Member, error) {
			if left {
				return o.rejoin(ctx, s, was)
			}
			return o.idle(ctx, s, name)
		},
		start: &lo,
		undo: func(ctx context.Context, ms []*control.Member, cause error) error {
			var setup *process.SetupError
			if !left || errors.As(cause, &setup) {
				return nil
			}
			return o.dismiss(ctx, s, ms, "")
		},
	})
	return len(ms) > 0, err
}

// idle returns a member whose process does not run, and none when it does. A member in the queue leaves it: a person lets
// it begin before its turn.
func (o Operator) idle(ctx context.Context, s *operator.State, name string) ([]*control.Member, error) {
	m, err := decide.Member(s, name)
	if err == nil && m.InQueue() {
		taken, uerr := o.unqueue(ctx, s, m)
		if uerr != nil || !taken {
			return nil, uerr
		}
		m, err = decide.Member(s, name)
	}
	if err != nil || !slices.Contains(restartable(s), m) {
		return nil, err
	}
	return []*control.Member{m}, nil
}

// rejoin makes a member that has left a member again, in the mode that it joined with.
func (o Operator) rejoin(ctx context.Context, s *operator.State, was *control.Member) ([]*control.Member, error) {
	if err := o.admit(ctx, s, "resume"); err != nil {
		return nil, err
	}
	i, err := teams.Of(o.Operator).Return(ctx, s, was)
	if err != nil {
		return nil, err
	}
	if m, ok := s.Lead.ByInstance(i); ok {
		err = o.setMode(ctx, s, i, m.Joined.Mode)
	}
	return entered(s, i, err)
}

// entered returns the member that has joined as an instance, with the error of what was done to it.
func entered(s *operator.State, i record.Instance, err error) ([]*control.Member, error) {
	m, ok := s.Lead.ByInstance(i)
	switch {
	case ok:
		return []*control.Member{m}, err
	case err == nil:
		err = fmt.Errorf("%s has just left again", i)
	}
	return nil, err
}
