package supervise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/operator/process"
	"waggle/operator/teamfile"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
)

// RunOptions are the settings of Run.
type RunOptions struct {
	Headless bool          // requests are not shown at this terminal
	Wait     time.Duration // with Headless: how long a request waits for an answer from another terminal
	Timeout  time.Duration // of the whole run; 0: none
	// Expire makes the context that ends after Timeout; nil: context.WithTimeout.
	Expire func(context.Context, time.Duration) (context.Context, context.CancelFunc)
	Grace  time.Duration // for members to end by handshake; 0 means 10 s
	Budget *record.Limit // of the run; nil: none but those of the file
	// Hurry, when it is closed, ends the grace at once. May be nil.
	Hurry <-chan struct{}
	Keep  bool // leave the team's files in the wire tree
	// Homeless is how long the run continues without the team's directory: members still read
	// answers in the journal, but their messages do not arrive; 0 means 5 s.
	Homeless time.Duration
	// Look is the interval of searches for files that more than one member edits; 0 means 5 s.
	Look time.Duration
	// Ask shows a request to the person at this terminal and returns the answer. It is called for
	// every open request, each in its own goroutine, and chooses which one it shows first. ctx ends
	// when the request is not open any more, and its cause says why. After an error the request is
	// not shown here again. Nil: there is no person.
	Ask func(ctx context.Context, q decide.Request) (decide.Answer, error)
	// Note gets the events of the run, one at a time, from one goroutine.
	Note func(operator.Note)
	// Waiting gets, at each turn, the requests that wait for the operator; it does not block. May be nil.
	Waiting func(s *operator.State, all []Waiting)
}

// Waiting is a request that waits for the operator. One that the lead's agent is to answer does not, until that agent
// has passed it on.
type Waiting struct {
	Key    record.Key
	Member protocol.MemberName
}

// Run brings a team up from a file, runs its tasks to completion, ends it by handshake, and
// reports. A team that cannot be made whole is archived, and there is no report. After that the
// report is complete also when the error is not nil; its Kind decides the exit code (commands §6,
// "run ends with the first that applies").
func (o Operator) Run(ctx context.Context, f *teamfile.File, ro RunOptions) (*Report, error) {
	if len(f.Tasks) == 0 {
		return nil, &operator.Error{Kind: operator.Usage, Op: "run", Err: errNoTasks, Advice: f.Path}
	}
	if ro.Headless {
		if err := o.checkHeadless(ctx, f, ro.Wait == 0); err != nil {
			return nil, err
		}
	}
	s, err := o.raiseTeam(ctx, fileTeam{op: "run", file: f, attended: !ro.Headless, headless: ro.Headless, wait: ro.Wait, budget: ro.Budget, note: ro.Note})
	if err != nil {
		return nil, err
	}
	defer s.Settled()
	led, err := o.take(ctx, s, f, true, ro.Note)
	if err != nil {
		_, aerr := process.Of(o.Operator).Archive(context.WithoutCancel(ctx), s, endedFailed)
		return nil, errors.Join(err, aerr)
	}
	s.Settled() // the team has a leader
	led.showing, led.waiting, led.watch = ro.Ask, ro.Waiting, inspect.NewWatcher(inspect.Of(led.o.Operator), ro.Look)
	r := &run{raised: led, ro: ro}
	r.Reporter.Died = r.died
	return r.all(ctx)
}

// run is one run in progress.
type run struct {
	*raised
	ro       RunOptions
	end      runEnd
	gone     time.Time // when the team's directory disappeared; zero: it exists
	restless time.Time // since when the job is over and no turn of the lead's agent runs; zero: the job is not over
}

// runEnd is why a run was cut short.
type runEnd struct {
	died     []string
	timedOut bool
	stopped  error
	gone     error // the team's directory was not restored in time
}

func (r *run) all(ctx context.Context) (*Report, error) {
	work, cancel := context.WithCancel(ctx)
	if r.ro.Timeout > 0 {
		expire := r.ro.Expire
		if expire == nil {
			expire = context.WithTimeout
		}
		work, cancel = expire(ctx, r.ro.Timeout)
	}
	defer cancel()
	err := r.start(work)
	if err == nil {
		err = r.loop(work, turns{pass: r.pass, turn: r.turn, answer: r.replied})
	}
	if work.Err() != nil {
		r.end.timedOut = ctx.Err() == nil
		r.end.stopped = cmp.Or(context.Cause(ctx), r.end.stopped)
		err = nil
	}
	r.watch.Last(context.WithoutCancel(ctx), r.l, r.Note)
	// The end has its own time limit: members are asked to end also after a timeout or an
	// interrupt.
	ferr := r.finish(context.WithoutCancel(ctx))
	ferr = errors.Join(ferr, process.Of(r.o.Operator).TidyWorktrees(context.WithoutCancel(ctx), r.Reporter))
	rep := r.report()
	return rep, errors.Join(err, ferr, r.l.Close(), r.tidy(context.WithoutCancel(ctx), rep))
}

// start assigns the first tasks and starts the members: their orders are in their mailboxes before
// their processes run.
func (r *run) start(ctx context.Context) error {
	self, err := spawn.Identify(r.o.PID)
	if err != nil {
		return err
	}
	if r.job, err = r.o.newJob(ctx, r.S, r.f); err != nil {
		return err
	}
	if err := r.o.leads(ctx, r.S, record.LeadingProcess{ID: self, Run: true}); err != nil {
		return err
	}
	if err := r.pass(ctx); err != nil {
		return err
	}
	list, err := r.o.startAll(ctx, r.l, r.S, restartable(r.S), 0, r.Note)
	for _, st := range list {
		r.Note(st.note("log " + filepath.Join(r.o.Root.MemberDir(r.f.Team, st.member.Name), "output.log")))
	}
	r.coming = list
	return err
}

// arrive checks which members are ready, and ends a run with a member that differs from what was
// asked for. A member that ended before it was ready has died: the pass records it.
func (r *run) arrive() {
	r.coming = slices.DeleteFunc(r.coming, func(st *started) bool {
		over, err := r.ready.settle(st, false, r.Note)
		if err != nil && operator.KindOf(err) != operator.Died && r.end.stopped == nil {
			r.end.stopped = err
		}
		return over
	})
}

// turn checks which members are ready, and reports whether every task is over or the run was cut
// short.
func (r *run) turn(ctx context.Context) (last bool, err error) {
	if ctx.Err() != nil {
		return true, nil
	}
	if r.ill == nil {
		r.arrive()
	}
	if r.S.Lead.Closing != nil && r.end.stopped == nil {
		r.end.stopped = &operator.Error{Kind: operator.Refused, Op: "run", Msg: "the operator has ended the team"}
	}
	if e := r.broke(); e != nil && r.end.stopped == nil {
		r.end.stopped = &operator.Error{Kind: operator.UsedUp, Op: "run", Msg: e.String() + ", and was not raised"}
	}
	return r.job.over() && r.led(ctx) || len(r.end.died) > 0 || r.end.stopped != nil || r.homeless(), nil
}

// replied handles an answer from the terminal. An error that passes does not end a run.
func (r *run) replied(ctx context.Context, rep decide.Reply) error {
	return operator.Unpassing(r.answer(ctx, rep))
}

// homelessFor is the default of RunOptions.Homeless.
const homelessFor = 5 * time.Second

// homeless ends a run whose directory was not restored in time.
func (r *run) homeless() bool {
	now := r.o.Minter.Now()
	if n := r.S.Lead.Noticed; !n.Missing() {
		r.gone = time.Time{}
	} else if r.gone.IsZero() {
		r.gone = now
	} else if now.Sub(r.gone) >= cmp.Or(r.ro.Homeless, homelessFor) {
		r.end.gone = fmt.Errorf("the team's directory %s is gone", n.Path)
		return true
	}
	return false
}

// pass runs one leader pass and one step of the job.
func (r *run) pass(ctx context.Context) error {
	return r.passing(ctx, func(ctx context.Context) error { return r.job.step(ctx, r.l) })
}

// finish ends every member: by handshake within the grace, else by signal.
func (r *run) finish(ctx context.Context) error {
	e := process.TeamEnd{Grace: cmp.Or(r.ro.Grace, process.GraceUsual), Hurry: r.ro.Hurry}
	if c := r.S.Lead.Closing; c != nil {
		e.Grace, e.Force = time.Duration(c.Grace)*time.Millisecond, c.Force
	}
	e.Reason = "the work is done"
	if r.end.timedOut || r.end.stopped != nil {
		e.Reason = "the run was stopped"
		r.noteEnd(e)
	}
	process.Sweeps(r.S, r.To)
	return process.Of(r.o.Operator).EndTeam(ctx, r.l, r.S, e, func() { r.noteNew() })
}

// tidy records the end of the team and, unless Keep is set, moves its files into the archive. The
// report has the new paths of the members' files.
func (r *run) tidy(ctx context.Context, rep *Report) error {
	if err := r.S.Journal.Refresh(ctx); err != nil {
		return err
	}
	lie := r.o.Root.TasksDir(r.f.Team)
	if !r.ro.Keep {
		place, err := process.Of(r.o.Operator).Archive(ctx, r.S, process.EndedRun)
		if err != nil {
			return err
		}
		lie = filepath.Join(place, "tasks")
		if err := process.Of(r.o.Operator).Sweep(ctx, r.S, r.Note); err != nil {
			return err
		}
	}
	for i, m := range rep.Members {
		rep.Members[i].Files = filepath.Join(lie, m.Name)
	}
	return nil
}
