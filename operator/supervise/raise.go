package supervise

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"waggle/control"
	"waggle/leader"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/operator/process"
	"waggle/operator/teamfile"
	"waggle/operator/teams"
	"waggle/record"
)

// plan is how members of a team that is led are brought up (spawn, begin, resume).
type plan struct {
	join  func(context.Context) ([]*control.Member, error)      // with their first orders; with an error it returns those that have joined
	start *LeadOptions                                          // nil: who leads the team starts them
	undo  func(context.Context, []*control.Member, error) error // what could not be brought up leaves again; nil: it stays
}

// raise brings members of a team up as a plan says: a member joins, has its first orders in its mailbox, and then its
// process starts. Without a start none runs yet.
func (o Operator) raise(ctx context.Context, s *operator.State, p plan) ([]*control.Member, error) {
	ms, err := p.join(ctx)
	if err == nil && p.start != nil {
		err = o.Bring(ctx, s, ms, *p.start)
	}
	if err != nil && p.undo != nil {
		err = errors.Join(err, p.undo(context.WithoutCancel(ctx), ms, err))
	}
	return ms, err
}

// Bring starts members without leading, and waits until they are ready.
func (o Operator) Bring(ctx context.Context, s *operator.State, ms []*control.Member, lo LeadOptions) error {
	note := lo.Note
	if note == nil {
		note = func(operator.Note) {}
	}
	list, err := o.startAll(ctx, nil, s, ms, lo.Ready, note)
	for _, st := range list {
		note(st.note(st.member.Backend))
	}
	return errors.Join(err, o.readiness(s).await(ctx, list, lo.Accept, note))
}

// fileTeam is the team of a file that is brought up.
type fileTeam struct {
	op       string // the command that does it
	file     *teamfile.File
	attended bool // a person uses this terminal: members may have panes
	headless bool // requests wait, for so long, for an answer from another terminal; after 0 none comes
	wait     time.Duration
	budget   *record.Limit // of a run
	note     func(operator.Note)
}

// raiseTeam makes the team of a file: registry, journal, members and tasks. No process of it runs yet, and who leads it
// orders the tasks. This process holds the Claim of the name until State.Settled. A team that cannot be made whole is archived.
func (o Operator) raiseTeam(ctx context.Context, t fileTeam) (*operator.State, error) {
	s, err := o.make(ctx, t)
	if err != nil {
		return nil, err
	}
	if err := o.fill(ctx, s, t); err != nil {
		_, aerr := process.Of(o.Operator).Archive(context.WithoutCancel(ctx), s, endedFailed)
		s.Settled()
		return nil, errors.Join(err, aerr)
	}
	return s, nil
}

// endedFailed is the End of a team that could not be brought up.
const endedFailed = "it could not be brought up"

// policy is what the team may do.
func (t fileTeam) policy() record.PolicySet {
	f := t.file
	set := record.PolicySet{Policy: f.Policy, Decide: f.Decide, Lead: f.LeadPolicy, Sandboxed: f.Policy.Sandboxed, File: f.SHA256, Path: f.Path, Deadline: f.Deadline.Milliseconds(), Hosts: f.Network}
	if t.headless {
		set.Unattended, set.Deadline = t.wait == 0, t.wait.Milliseconds()
	}
	return set
}

// make makes the team, without members.
func (o Operator) make(ctx context.Context, t fileTeam) (s *operator.State, err error) {
	f := t.file
	if err := f.Under(decide.Of(o.Operator).CeilingOf(nil)); err != nil {
		return nil, err
	}
	held, err := o.Claim(t.op, f.Team)
	if err != nil {
		return nil, err
	}
	if err = teams.Of(o.Operator).Clear(ctx, f.Team, t.note); err == nil {
		s, err = teams.Of(o.Operator).Make(ctx, f.Team, teamfile.About{Description: f.Description, Metadata: f.Metadata}, f.Layout, t.policy())
	}
	if err != nil {
		held.Free()
		return nil, err
	}
	s.Claim = held
	return s, nil
}

// fill gives a team that was just made what its file says.
func (o Operator) fill(ctx context.Context, s *operator.State, t fileTeam) error {
	if err := teams.Accept(s.Dir, t.file); err != nil {
		return err
	}
	if err := o.setBudgets(ctx, s, t.file.Budgets(t.budget)); err != nil {
		return err
	}
	if err := o.enlistAll(ctx, s, t, t.file.Members); err != nil {
		return err
	}
	_, _, err := o.fillBoard(ctx, s.Team, t.file)
	return err
}

// enlistAll joins the lead's agent, when it has not joined, and members.
func (o Operator) enlistAll(ctx context.Context, s *operator.State, t fileTeam, ms []teamfile.FileMember) error {
	if err := o.enlistLead(ctx, s, t); err != nil {
		return err
	}
	auto := ""
	for _, m := range ms {
		if t.headless {
			m.Backend = process.Alone(m)
		}
		if m.Backend == operator.BackendAuto && auto == "" { // resolved once: it takes time
			var err error
			if auto, err = process.Of(o.Operator).ResolveBackend(ctx, m.Backend, t.attended); err != nil {
				return err
			}
		}
		if m.Backend == operator.BackendAuto {
			m.Backend = auto
		}
		m.File = t.file.SHA256
		if _, err := o.enlist(ctx, s, m, t.attended, false); err != nil {
			return err
		}
	}
	return nil
}

// raised is a team that was brought up from a file, in the process that leads it.
type raised struct {
	*process.Reporter
	o      Operator
	f      *teamfile.File
	l      *leader.Leader
	job    *job
	ready  *readiness
	coming []*started      // the starts that are being waited for
	watch  inspect.Watcher // searches for files that more than one member edits
	asking decide.Asking   // the requests at the terminal
	// showing and waiting are RunOptions.Ask and Waiting.
	showing func(context.Context, decide.Request) (decide.Answer, error)
	waiting func(*operator.State, []Waiting)

	ill     error // the error of the leader's journal; nil: it is whole
	silence silence
	briefed time.Time // when the snapshot of status --line was looked at last
}

// take makes this process lead a team that was raised. A run dismisses its members at its end.
func (o Operator) take(ctx context.Context, s *operator.State, f *teamfile.File, run bool, note func(operator.Note)) (*raised, error) {
	var err error
	if o.Operator, err = teams.Of(o.Operator).LedBy(f); err != nil {
		return nil, err
	}
	of := process.Of(o.Operator).LeaderOptions(s, run)
	of.Leading = leading{o, s.Team}
	l, err := process.Of(o.Operator).LeadAs(ctx, s, of)
	if err != nil {
		return nil, err
	}
	return &raised{Reporter: process.Of(o.Operator).Reporter(s, note), o: o, f: f, l: l, ready: o.readiness(s)}, nil
}

func (r *raised) log() *slog.Logger { return cmp.Or(r.o.Log, slog.New(slog.DiscardHandler)) }

func (r *raised) warn(msg string, err error, args ...any) {
	if err != nil {
		r.log().Warn(msg, append([]any{slog.Any("err", err)}, args...)...)
	}
}
