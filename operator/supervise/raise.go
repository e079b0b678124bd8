package supervise

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"waggle/leader"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/operator/process"
	"waggle/operator/teamfile"
	"waggle/operator/teams"
	"waggle/record"
)

// plan is how a team is brought up from a file.
type plan struct {
	op       string // the command that does it
	file     *teamfile.File
	attended bool // a person uses this terminal: members may have panes
	headless bool // requests wait, for so long, for an answer from another terminal; after 0 none comes
	wait     time.Duration
	budget   *record.Limit // of a run
	orders   bool          // every task is assigned at once; without it who leads assigns them one after the other
	note     func(operator.Note)
}

// policy is what a plan's team may do.
func (p plan) policy() record.PolicySet {
	f := p.file
	set := record.PolicySet{Policy: f.Policy, Decide: f.Decide, Lead: f.LeadPolicy, Sandboxed: f.Policy.Sandboxed, File: f.SHA256, Path: f.Path, Deadline: f.Deadline.Milliseconds(), Hosts: f.Network}
	if p.headless {
		set.Unattended, set.Deadline = p.wait == 0, p.wait.Milliseconds()
	}
	return set
}

// raise makes the team of a plan: registry, journal and members, with their first orders. No process of it runs yet. This
// process holds the Claim of the name until State.Settled. A team that cannot be made whole is archived.
func (o Operator) raise(ctx context.Context, p plan) (_ *operator.State, err error) {
	f := p.file
	if err := f.Under(decide.Of(o.Operator).CeilingOf(nil)); err != nil {
		return nil, err
	}
	if p.headless {
		if err := o.checkHeadless(ctx, f, p.wait == 0); err != nil {
			return nil, err
		}
	}
	held, err := o.Claim(p.op, f.Team)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			held.Free()
		}
	}()
	if err := teams.Of(o.Operator).Clear(ctx, f.Team, p.note); err != nil {
		return nil, err
	}
	s, err := teams.Of(o.Operator).Make(ctx, f.Team, teamfile.About{Description: f.Description, Metadata: f.Metadata}, f.Layout, p.policy())
	if err != nil {
		return nil, err
	}
	s.Claim = held
	if err := o.fill(ctx, s, p); err != nil {
		_, aerr := process.Of(o.Operator).Archive(context.WithoutCancel(ctx), s, endedFailed)
		return nil, errors.Join(err, aerr)
	}
	return s, nil
}

// endedFailed is the End of a team that could not be brought up.
const endedFailed = "it could not be brought up"

// fill gives a team that was just made what its file says.
func (o Operator) fill(ctx context.Context, s *operator.State, p plan) error {
	if err := accept(s.Dir, p.file); err != nil {
		return err
	}
	if err := o.setBudgets(ctx, s, p.file.Budgets(p.budget)); err != nil {
		return err
	}
	if err := o.enlistAll(ctx, s, p); err != nil || !p.orders {
		return err
	}
	l, err := process.Of(o.Operator).LeadAs(ctx, s, o.Passing(s))
	if err != nil {
		return err
	}
	err = o.AssignAll(ctx, s, p.file, l)
	if err == nil {
		err = l.Pass(ctx) // their orders are in their mailboxes before they start
	}
	return errors.Join(err, l.Close(), s.Journal.Refresh(ctx))
}

// enlistAll joins the lead's agent, and the members that have not joined.
func (o Operator) enlistAll(ctx context.Context, s *operator.State, p plan) error {
	if err := o.enlistLead(ctx, s, p); err != nil {
		return err
	}
	auto := ""
	for _, m := range missing(s, p.file) {
		if p.headless {
			m.Backend = process.Alone(m)
		}
		if m.Backend == operator.BackendAuto && auto == "" { // resolved once: it takes time
			var err error
			if auto, err = process.Of(o.Operator).ResolveBackend(ctx, m.Backend, p.attended); err != nil {
				return err
			}
		}
		if m.Backend == operator.BackendAuto {
			m.Backend = auto
		}
		m.File = p.file.SHA256
		if err := o.Unlist(ctx, s, m.Name); err != nil {
			return err
		}
		if err := o.enlist(ctx, s, m, p.attended); err != nil {
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

func (r *raised) log() *slog.Logger {
	if r.o.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return r.o.Log
}

func (r *raised) warn(msg string, err error, args ...any) {
	if err != nil {
		r.log().Warn(msg, append([]any{slog.Any("err", err)}, args...)...)
	}
}
