package supervise

import (
	"context"
	"errors"
	"slices"
	"time"

	"waggle/control"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/operator/process"
	"waggle/operator/teamfile"
	"waggle/operator/teams"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
	"waggle/task"
	"waggle/team"
)

// LeadOptions are the settings of a process that brings a team up and keeps it up.
type LeadOptions struct {
	Attended bool            // a person uses this terminal
	Detached bool            // this process has no terminal
	Grace    time.Duration   // for members to end by handshake when ctx ends; 0 means 10 s
	Ready    time.Duration   // for a start until the worker is ready; 0 means 30 s
	Hurry    <-chan struct{} // closed: that grace is over; may be nil
	Accept   bool            // accept a member that differs from what was asked for
	// Whole makes a member that does not come up at first an error. Without it the dead member
	// stays, and is restarted by its policy.
	Whole bool
	// Ask shows a request to the person at this terminal (RunOptions.Ask).
	Ask func(ctx context.Context, q decide.Request) (decide.Answer, error)
	// Note gets the events, one at a time, from one goroutine.
	Note func(operator.Note)
	// Waiting gets the requests that wait for the operator (RunOptions.Waiting).
	Waiting func(s *operator.State, all []Waiting)
	// Up is called once, when every member that was to start is ready.
	Up func(*operator.State)
}

// Why a process stopped leading.
const (
	LedEnded    = "ended"    // the team has ended
	LedDetached = "detached" // the operator wants a process without a terminal to lead
	LedLeft     = "left"     // this process was asked to end; the members run on
)

// Prepare makes the team of a file: registry, journal, members and tasks. No process runs yet; Keep
// orders the tasks and starts the members. This process holds the Claim of the name until Keep leads
// the team, or Settled is called.
func (o Operator) Prepare(ctx context.Context, f *teamfile.File, attended bool, note func(operator.Note)) (*operator.State, error) {
	return o.raiseTeam(ctx, fileTeam{op: "up", file: f, attended: attended, note: note})
}

// complete does the rest of Prepare when the process that ran it was stopped, which is certain when
// no process has ever led the team: it joins the other members, and puts the other tasks on the
// board.
func (o Operator) complete(ctx context.Context, s *operator.State, f *teamfile.File, attended bool) error {
	err := s.Journal.Refresh(ctx)
	rest := missing(s, f)
	for _, m := range rest {
		err = errors.Join(err, o.Unlist(ctx, s, m.Name))
	}
	if err == nil {
		err = o.enlistAll(ctx, s, fileTeam{file: f, attended: attended}, rest) // an older version gave the lead no worker
	}
	if err != nil || s.Lead.Led != nil || s.Lead.Continued > 0 {
		return err
	}
	for _, m := range s.Lead.Live() {
		if m.Mode == "" {
			if err := o.setMode(ctx, s, m.Instance, m.Joined.Mode); err != nil {
				return err
			}
		}
	}
	_, _, err = o.fillBoard(ctx, s.Team, f)
	return err
}

// missing lists the members of the file that have not joined a team without a leader so far. After
// an acknowledged break that is not known.
func missing(s *operator.State, f *teamfile.File) (ms []teamfile.FileMember) {
	for _, m := range f.Members {
		if _, ok := s.Lead.Member(m.Name); !ok && s.Lead.Led == nil && s.Lead.Continued == 0 {
			ms = append(ms, m)
		}
	}
	return ms
}

// Unlist removes a name from the registry that is not recorded: its join was interrupted.
func (o Operator) Unlist(ctx context.Context, s *operator.State, name protocol.MemberName) error {
	reg, err := team.Open(o.Root, s.Team, team.Options{})
	if err != nil {
		return err
	}
	cfg, err := reg.Load(ctx)
	if err != nil {
		return err
	}
	if m, ok := cfg.Member(name); !ok || m.Gone() {
		return nil
	}
	return reg.Remove(ctx, name, o.Minter.Now())
}

// enlist joins a member, or the lead's agent, with the backend that its file names, and orders its mode. It returns the
// instance with an error, too, when the member has joined.
func (o Operator) enlist(ctx context.Context, s *operator.State, m teamfile.FileMember, attended, lead bool) (i record.Instance, err error) {
	if m.Backend, err = process.Of(o.Operator).ResolveBackend(ctx, m.Backend, attended); err != nil {
		return "", err
	}
	if err := process.Of(o.Operator).CheckClient(ctx, m); err != nil {
		return "", err
	}
	if lead {
		i, err = teams.Of(o.Operator).JoinLead(ctx, s, m)
	} else {
		_, i, err = teams.Of(o.Operator).Join(ctx, s, m)
	}
	if err != nil {
		return "", err
	}
	return i, o.setMode(ctx, s, i, m.Mode)
}

// setMode orders the first mode of a member; "": it has none.
func (o Operator) setMode(ctx context.Context, s *operator.State, i record.Instance, mode policy.Mode) error {
	if mode == "" {
		return nil
	}
	_, err := decide.Of(o.Operator).OrderMode(ctx, s, i, mode, 0)
	return err
}

// Keep leads a team. It starts every member whose process does not run, restarts those that die by
// their policies, decides what is due, and returns when the operator ends the team or detaches, or
// ctx ends. A running member is supervised as it is and never started twice. f is the accepted team
// file; nil reads it.
//
// When ctx ends, a detached process leaves the members running, any other ends the team. The error
// concerns the start of the members that failed; the team then still runs (Abandon ends it).
func (o Operator) Keep(ctx context.Context, s *operator.State, f *teamfile.File, lo LeadOptions) (how string, err error) {
	if f == nil {
		if f, err = o.Accepted(s); err != nil {
			return "", err
		}
	}
	id, err := spawn.Identify(o.PID)
	if err != nil {
		return "", err
	}
	r, err := o.take(ctx, s, f, false, lo.Note)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, r.l.Close()) }()
	board, err := task.Open(o.Root.TasksDir(s.Team), s.Team, task.Options{})
	if err == nil {
		err = r.o.complete(ctx, s, f, lo.Attended)
	}
	if err == nil {
		err = r.l.Refresh(ctx)
	}
	if err != nil {
		return "", err
	}
	r.job, r.showing, r.waiting, r.watch = &job{board: board}, lo.Ask, lo.Waiting, inspect.NewWatcher(inspect.Of(r.o.Operator), 0)
	k := &keeper{raised: r, lo: lo, self: id, restarted: map[record.Instance]record.Died{}, again: map[record.Instance]time.Time{}}
	k.trouble.Log = k.log()
	k.Mute()
	return k.lead(ctx)
}

// Abandon ends a team that could not be brought up whole, and archives it.
func (o Operator) Abandon(ctx context.Context, s *operator.State, grace time.Duration, note func(operator.Note)) error {
	err := process.Of(o.Operator).EndAll(ctx, s, grace, false, note)
	_, aerr := process.Of(o.Operator).Archive(ctx, s, endedFailed)
	return errors.Join(err, aerr, process.Of(o.Operator).Sweep(ctx, s, note))
}

// restartable returns the members that Keep would start: those without a process, but for those
// whose client connects by itself, and those in the queue.
func restartable(s *operator.State) []*control.Member {
	return slices.DeleteFunc(s.Lead.Live(), func(m *control.Member) bool {
		return m.Trust == record.FileTrust || m.Backend == operator.BackendMCP || m.InQueue() || m.Stopping != nil || m.Approved || running(m)
	})
}
