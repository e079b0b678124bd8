// Package worker is the runtime of a member: it takes its epoch and lease, polls its mailbox, steps
// its machine, and gives its agent turns of work behind the gate. `waggle worker` runs it, and an
// in-process backend calls it.
//
//	w, err := worker.Open(ctx, worker.Options{…})
//	defer w.Close()
//	err = w.Run(ctx) // until an approved shutdown, or ctx ends
//
// Guarantees: nothing is sent, run or shown to the agent before the record of it is on disk;
// control is applied before any chat, shutdown requests first; chat reaches an idle session once,
// as one turn, in file order. After a restart the worker takes up the turn that ran: the new
// session gets its work, its calls are answered from the record, and a call whose end is unknown is
// not run again. A process that a later start of its instance has overtaken, or whose membership
// has ended, does nothing any more, and Run returns that as an error.
package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"waggle/agent"
	"waggle/boxes"
	"waggle/control"
	"waggle/internal/backoff"
	"waggle/internal/caught"
	"waggle/internal/commands"
	"waggle/internal/program"
	"waggle/journal"
	"waggle/machine"
	"waggle/mailbox"
	"waggle/message"
	"waggle/policy"
	"waggle/poll"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
	"waggle/task"
	"waggle/transport"
)

// Board is the shared task list as a worker uses it.
type Board interface {
	Get(ctx context.Context, id task.ID) (task.Task, error)
	// Blockers are the tasks that one still waits for.
	Blockers(ctx context.Context, id task.ID) ([]task.ID, error)
	Start(ctx context.Context, id task.ID, owner protocol.MemberName) (task.Task, error)
	// Claim makes owner the owner of a task without an owner, and starts it.
	Claim(ctx context.Context, id task.ID, owner protocol.MemberName) (task.Task, error)
	Complete(ctx context.Context, id task.ID, owner protocol.MemberName) (task.Task, error)
	// Pause sets a task that failed back to pending.
	Pause(ctx context.Context, id task.ID, owner protocol.MemberName) (task.Task, error)
}

// Parts are the dependencies of a worker. New takes them from its caller, so that a worker can run
// in memory; Open makes them from files.
type Parts struct {
	Journal journal.Journal // this instance's
	Fold    *control.Worker
	Leader  journal.Journal // the leader's, read
	Lead    *control.Leader // its fold
	Box     mailbox.Store   // this member's mailbox
	LeadBox mailbox.Store   // the lead's
	// LeadPrunes: the lead's mailbox loses read entries, and no journal records that they were
	// read. Then a message that is missing there does not count as lost.
	LeadPrunes bool
	// Peer opens another member's mailbox. It may read Lead, and must not wait.
	Peer  func(protocol.MemberName) (mailbox.Store, error)
	Board Board
	Agent agent.Agent
	Exec  agent.Exec
	// Place is where the program of a resident agent runs.
	Place agent.Place
	// Confined reports whether a call that started now would run wholly inside a sandbox of the
	// member that has passed its self-test; nil: none would.
	Confined func(agent.Call) bool
	Network  Enforcer // nil: network grants are not enforced
	// Held is the level of the member's sandbox; nil: the membership asks for none.
	Held *record.Held
	// Writable returns why waggle must not write a file for the member; nil: it may write every
	// file.
	Writable func(path string) error
	Output   io.Writer // output.log; nil: discard
	Environ  []string
	// Added are those of Environ that the member adds for every command: they are part
	// of what is asked.
	Added []string
	Cwd   string
	// Links resolves the paths that calls are judged by; nil: they are judged as text.
	Links policy.Links
	// Worktree is the member's own checkout, in which Cwd is; nil: it has none.
	Worktree *record.Worktree
	// Bring brings the branch of a checkout with its own git directory into the repository, after
	// each turn; nil: they share one.
	Bring func(context.Context) error
	// Follow does so soon after each commit, until its context ends, and tells each error, or nil; nil: as Bring.
	Follow  func(ctx context.Context, tell func(error)) error
	Backend string // how this process was started
	// Where reports where this process runs; nil: in Cwd.
	Where  func(context.Context) (Location, error)
	Minter poll.Minter
	Writer journal.Writer
	// Nudges say that something may have changed, at least at every tick of the clock: failed
	// operations are retried then.
	Nudges <-chan struct{}
	// Fell gets the error of a panic in the watcher, which then ends the worker; nil: there is no
	// watcher goroutine.
	Fell <-chan error
	// CheckDirectory reports what happened to the team's directory since the last call; nil: it is not
	// checked.
	CheckDirectory func() *boxes.Change
	// Status keeps task-status.json current; nil: there is no such file.
	Status func(task.State) error
	// Files lists the files in the member's directory, so that task_completed can name those that a
	// turn has made; nil: none.
	Files func() ([]task.Artifact, error)
	// Shown reports where this process is shown; nil: unknown.
	Shown func(context.Context) control.Shown
	// KeepPlan writes a copy of a plan for readers of files and returns its path; nil:
	// there is none.
	KeepPlan func(plan string) (path string, err error)
	// Plans: each turn of a guest needs an approved plan before it changes anything.
	Plans bool
	// Foreign is the team of a guest; nil: waggle leads the team.
	Foreign *Foreign
	// Kept returns what was removed from the mailbox when it was read, where no record
	// holds it; nil: a record does.
	Kept func() ([]mailbox.Entry, error)
	// GateWait is how long the agent waits for an answer before it is told to
	// retry later (trust §3); 0: as long as it takes.
	GateWait time.Duration
	// Ended reports that the process which has the member's conversation certainly does not run any more;
	// nil: spawn.Identity.Ended.
	Ended func(spawn.Identity) bool
	// Overdue is how old an order must be before the worker fetches it itself;
	// 0 means 2 s.
	Overdue time.Duration
	Log     *slog.Logger // nil: discard. Never a message body
}

// Worker runs one member.
type Worker struct {
	p        Parts
	poller   poll.Poller
	trouble  poll.Troubles
	bulletin *bulletin
	nudge    chan struct{} // something here has changed
	turns    sync.WaitGroup
	baseline map[string]bool // entries from before the member joined
	leads    bool            // it runs the lead's agent

	// mu guards the journals, their folds and what follows. It is held while this process
	// appends to its journal, and so while it waits for the journal's flock, which is a leaf;
	// it is never held while another file is locked.
	mu      sync.Mutex
	ctx     context.Context // of turns; set by Run
	changed chan struct{}   // closed at every append
	passed  chan struct{}   // closed when a pass has read the mailbox
	turn    *turn           // the turn that runs here, until its end is on record
	fetched map[uint64]bool // orders that were fetched
	unshown []shown         // turns of tasks whose end the board does not show yet
	older   bool            // an older program's questions or grants may be left
	wanted  bool            // the agent wants a turn of its own
	aside   *turn           // the turn that a limit or a person has cut short in this process; nil: none is open
	retries int             // limits in a row that were passing
	cut     journal.Seq     // messages up to here were sent before it was
	finder  program.Finder

	telling sync.Mutex  // held while the agent's conversation is told its mode; guards what follows
	mode    policy.Mode // the last mode that it has accepted; "": none yet

	enforcing sync.Mutex      // held while the enforcer is told; guards what follows
	grants    []control.Grant // the grants that it was given last
	enforced  bool            // they are in force

	sending sync.Mutex           // held while mail goes out; guards what follows
	flushed int                  // the first messages of the outbox, which are in their mailboxes
	sent    map[journal.Seq]bool // further messages that are in their mailboxes
	tried   map[journal.Seq]bool // messages after a failed attempt: they may be in their mailboxes
	earlier journal.Seq          // messages up to here are of earlier processes
	unheard []unheard            // in the lead's mailbox, not in its journal

	stop     context.CancelFunc           // ends what runs; set by Run
	activity activity                     // of a guest
	unlisted time.Time                    // since when the registry has no entry of a guest; zero: it has one
	fell     atomic.Pointer[caught.Error] // the first panic in a goroutine of this worker

	socket *transport.Socket // nil: none
	spawn  string            // the token of the member's own processes; "": they cannot call
	post   mailbox.Store     // the mailbox for messages from the socket: this member's own, with the limits for strangers
	// leading has the sockets of the team, by one of which the lead's agent reaches the leader.
	leading transport.SocketDirs
	told    map[record.Key]bool // requests that the lead's agent was told of, and own ones that were answered late; with mu
	close   []func() error

	connections commands.Connections
}

// PanicError is a panic of a goroutine of a worker, with its stack.
type PanicError = caught.Error

// ErrLeft: the leader's journal says that this membership has ended.
var ErrLeft = errors.New("this membership has ended")

// errApproved ends the loop after an approved shutdown.
var errApproved = errors.New("shutdown approved")

// New returns a worker over given parts. The journal must be opened, with its opened record for
// this epoch appended, and the leader's must know the member.
func New(p Parts) *Worker {
	p.Overdue = cmp.Or(p.Overdue, 2*time.Second)
	if p.Output == nil {
		p.Output = io.Discard
	}
	if p.Ended == nil {
		p.Ended = spawn.Identity.Ended
	}
	p.Log = cmp.Or(p.Log, slog.New(slog.DiscardHandler))
	w := &Worker{p: p, trouble: poll.Troubles{Log: p.Log}, bulletin: newBulletin(p), nudge: make(chan struct{}, 1),
		baseline: map[string]bool{}, changed: make(chan struct{}), passed: make(chan struct{}), fetched: map[uint64]bool{},
		sent: map[journal.Seq]bool{}, tried: map[journal.Seq]bool{}, told: map[record.Key]bool{}}
	if m, ok := p.Lead.ByInstance(p.Fold.Instance); ok {
		for _, e := range m.Baseline {
			w.baseline[e] = true
		}
		w.leads = m.Leads()
	}
	if n := len(p.Fold.Outbox); n > 0 {
		w.earlier = p.Fold.Outbox[n-1].Seq
	}
	w.post = p.Box
	w.settle()
	w.poller = poll.Poller{Name: p.Fold.Name, Box: p.Box, Machine: w, Mark: true}
	return w
}

// Run polls until a shutdown is approved (nil), ctx ends (its error), or this process must stop: its journal is a newer
// program's or was removed, a later start of the member has taken over (control.ErrSuperseded, journal.StaleError), or
// the membership has ended (ErrLeft). While a journal is broken it starts nothing and waits. A panic in one of its
// goroutines ends it too and is in the error, a *PanicError; one of the agent's in a turn is a failed turn. When ctx
// ends, so does the current turn, and its end is recorded and sent. Run returns after that, and leaves no goroutine. It
// is called once.
func (w *Worker) Run(ctx context.Context) (err error) {
	turns, stop := context.WithCancel(ctx)
	w.stop = stop
	nudges, merged := w.merge(turns)
	defer merged.Wait()
	if w.p.Follow != nil {
		merged.Go(func() { w.guard(func() { w.follow(turns) }) })
	}
	if w.socket != nil {
		var serving sync.WaitGroup
		serving.Go(func() {
			err := w.socket.Serve(turns)
			w.trouble.Note("socket", err, "the socket is not served any more")
			w.fall(caught.Of(err))
		})
		defer serving.Wait()
	}
	defer func() { w.ended(err) }()
	defer func() {
		if p := w.fell.Load(); p != nil {
			err = fmt.Errorf("worker %s: %w", w.p.Fold.Name, p)
		}
	}()
	defer w.hangUp()
	defer w.turns.Wait()
	defer stop()
	w.guard(func() { err = w.loop(turns, nudges) })
	return err
}

// loop polls until poll ends.
func (w *Worker) loop(ctx context.Context, nudges <-chan struct{}) error {
	if err := w.begin(ctx); err != nil {
		return fmt.Errorf("worker %s: %w", w.p.Fold.Name, err)
	}
	w.status(task.MemberIdle, "")
	err := w.poller.Run(ctx, nudges, w.retry)
	if errors.Is(err, errApproved) {
		return nil
	}
	return err
}

// guard runs f, in a goroutine of this worker: a panic ends the worker, and not the
// program that it may share with others.
func (w *Worker) guard(f func()) {
	w.fall(caught.Of(caught.Do(func() error {
		f()
		return nil
	})))
}

// fall ends a worker that has panicked, because its operation may be half done. It takes no lock,
// because the goroutine that panicked may hold one.
func (w *Worker) fall(p *caught.Error) {
	if p == nil {
		return
	}
	w.fell.CompareAndSwap(nil, p)
	w.p.Log.Error("panic", "what", p.Error(), "stack", string(p.Stack))
	w.stop()
}

// begin records an unknown end for the calls that an earlier process left running, and looks for
// tasks whose end the board may not show.
func (w *Worker) begin(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ctx = ctx
	for _, t := range w.p.Fold.Tasks {
		if t.Taken && t.Ended {
			w.unshown = append(w.unshown, shown{task.ID(t.ID), t.Ref, t.Failed})
		}
	}
	w.older = w.p.Fold.Older()
	return w.append(ctx, func() ([]journal.Draft, error) {
		ds := append(w.p.Fold.Lost("the process ended while it ran"), w.p.Fold.Supersede(w.p.Lead)...)
		more, err := w.inherited()
		return append(ds, more...), err
	})
}

// supersede closes what an older program has asked, as its decisions come in.
func (w *Worker) supersede(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.older {
		return nil
	}
	err := w.append(ctx, func() ([]journal.Draft, error) { return w.p.Fold.Supersede(w.p.Lead), nil })
	if err == nil {
		w.older = w.p.Fold.Older()
	}
	return err
}

// retry reports whether an error may pass: a lock that another process holds, a torn foreign write,
// a directory that is missing for a moment, a full disk. The next nudge tries again.
func (w *Worker) retry(err error) bool {
	if errors.Is(err, errApproved) || final(err) {
		return false
	}
	w.trouble.Note("pass", err, "pass failed, will retry")
	return true
}

// final reports an error after which this process must stop. A broken journal is none, because it
// may be restored.
func final(err error) bool {
	if b := ill(err); b != nil && !b.Gone {
		return errors.Is(err, control.ErrSuperseded) || errors.Is(err, ErrLeft)
	}
	return poll.Final(err) || errors.Is(err, control.ErrSuperseded) || errors.Is(err, ErrLeft)
}

// merge joins the directory's nudges with those from here. The goroutine ends
// with ctx.
func (w *Worker) merge(ctx context.Context) (<-chan struct{}, *sync.WaitGroup) {
	out := make(chan struct{}, 1)
	var wg sync.WaitGroup
	var starts <-chan struct{} // nil: the agent has no turns of its own
	if a, ok := w.p.Agent.(agent.Starter); ok {
		starts = a.Starts()
	}
	wg.Go(func() {
		outside := w.p.Nudges
		for {
			select {
			case <-ctx.Done():
				return
			case <-starts:
				w.mu.Lock()
				w.wanted = true
				w.mu.Unlock()
			case err := <-w.p.Fell:
				w.fall(caught.Of(err))
				return
			case _, ok := <-outside:
				if !ok {
					outside = nil
					continue
				}
			case <-w.nudge:
			}
			select {
			case out <- struct{}{}:
			default:
			}
		}
	})
	return out, &wg
}

func (w *Worker) wake() {
	select {
	case w.nudge <- struct{}{}:
	default:
	}
}

// append appends to this worker's journal and wakes who waits for a change. The journal
// refuses an epoch that is not the newest, before it asks propose: that is ErrSuperseded,
// and nothing to try again. The caller holds mu.
func (w *Worker) append(ctx context.Context, propose func() ([]journal.Draft, error)) error {
	_, err := w.p.Journal.Append(ctx, w.p.Writer, propose)
	if _, older := errors.AsType[*journal.StaleError](err); older {
		err = fmt.Errorf("%w: %w", control.ErrSuperseded, err)
	}
	close(w.changed)
	w.changed = make(chan struct{})
	if w.socket != nil {
		w.socket.Changed()
	}
	return err
}

// refusal is an error of the machine, not of the journal: trying again does not
// help.
type refusal struct{ err error }

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

// refuse marks what a machine's step returned.
func refuse(ds []journal.Draft, err error) ([]journal.Draft, error) {
	if err != nil {
		return nil, &refusal{err}
	}
	return ds, nil
}

// passes reports an error of a journal that may be over soon: nothing was done, as far as can be
// seen, and the same can be tried again.
func passes(err error) bool {
	var refused *refusal
	var draft *journal.DraftError
	return err != nil && !errors.As(err, &refused) && !errors.As(err, &draft) && !final(err)
}

// record appends a fact that cannot be undone. It retries until the fact is recorded, the journal
// cannot be used any more, or ctx has ended and one more try has failed. A failed append may have
// recorded it, so propose must draft nothing once it is there.
func (w *Worker) record(ctx context.Context, propose func() ([]journal.Draft, error)) error {
	for again := newBackoff(); ; {
		ended := ctx.Err() != nil
		err := w.appendNow(context.WithoutCancel(ctx), propose)
		w.trouble.Note("record", err, "not on record yet, will retry")
		if !passes(err) || ended {
			return err
		}
		again.Wait(ctx)
	}
}

// appendNow is append for a caller that does not hold mu.
func (w *Worker) appendNow(ctx context.Context, propose func() ([]journal.Draft, error)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.append(ctx, propose)
}

// newBackoff is the pauses between retries.
func newBackoff() *backoff.Backoff {
	return &backoff.Backoff{First: 50 * time.Millisecond, Most: 2 * time.Second}
}

// Refresh implements poll.Machine.
func (w *Worker) Refresh(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.p.Leader.Refresh(ctx); err != nil {
		return err
	}
	if err := w.p.Journal.Refresh(ctx); err != nil {
		return err
	}
	return w.standing()
}

// standing checks that this process is still the member's. The caller holds mu.
func (w *Worker) standing() error {
	m, ok := w.p.Lead.ByInstance(w.p.Fold.Instance)
	switch {
	case !ok || m.Left != nil || w.p.Lead.Ended != nil:
		return ErrLeft
	case w.p.Fold.Epoch != w.p.Writer.Epoch, m.Process != nil && m.Process.Epoch > w.p.Writer.Epoch:
		return control.ErrSuperseded
	}
	return nil
}

// unsayGrace is how long an entry that was withdrawn may be in the mailbox before it is marked
// read.
const unsayGrace = 10 * time.Second

// Standing implements poll.Machine.
func (w *Worker) Standing(entry string) poll.Standing {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.p.Fold.Owns(entry):
		return poll.Owned
	case w.baseline[entry]:
		return poll.Old
	case w.p.Lead.Unsaid(entry, w.p.Minter.Now()) != "":
		if o := w.p.Lead.Spoken(entry); o.Closed && w.p.Minter.Now().Sub(o.Ended.At) < unsayGrace {
			return poll.Old // the process that withdrew it also removes it from the mailbox
		}
		return poll.Owned
	case w.p.Fold.Copy(entry, w.p.Lead):
		return poll.Owned
	}
	return poll.New
}

// Receive implements poll.Machine.
func (w *Worker) Receive(ctx context.Context, in message.Incoming) error {
	return w.appendNow(ctx, func() ([]journal.Draft, error) {
		if w.p.Fold.Guest {
			return w.p.Fold.ReceiveFile(in, w.p.Lead, w.p.Minter.Now()), nil
		}
		if err := w.p.Leader.Refresh(ctx); err != nil { // an answer that was taken back by now opens nothing
			return nil, err
		}
		return w.p.Fold.Receive(in, w.p.Lead), nil
	})
}

// Apply implements poll.Machine: it answers a shutdown, sends what the journal holds
// and was not sent, and fetches orders that were not delivered. An error of another
// member's mailbox does not fail it.
func (w *Worker) Apply(ctx context.Context) error {
	if err := w.answerShutdown(ctx); err != nil {
		return err
	}
	w.trouble.Directory(ctx, w.p.CheckDirectory, w.appendNow)
	if err := w.keepEntry(ctx); err != nil {
		return err
	}
	if err := w.takeAnswers(ctx); err != nil {
		return err
	}
	told := w.flush(ctx)
	w.resend(ctx)
	w.mu.Lock()
	gone, busy := w.p.Fold.State() == machine.Terminated, w.turn != nil
	w.mu.Unlock()
	switch {
	case gone && told && !busy:
		w.status(task.MemberComplete, "")
		return errApproved
	case gone:
		return nil // the lead must get it first, and the last turn must have ended
	}
	if err := w.ready(ctx); err != nil {
		return err
	}
	if err := w.supersede(ctx); err != nil {
		return err
	}
	w.beat()
	_ = w.enforce(ctx) // logged, and retried by the next pass
	w.tellMode(ctx)
	w.account(ctx)
	w.show(ctx)
	w.fetch(ctx)
	return ctx.Err()
}

// answerShutdown says yes when no turn runs, or the one that is open waits for the end of a usage
// limit, for a person who has its conversation, or until all work is resumed, and no with the reason when one does: the leader may ask again, or end the process.
func (w *Worker) answerShutdown(ctx context.Context) error {
	w.mu.Lock()
	leaving := w.p.Fold.State() == machine.ShuttingDown
	w.mu.Unlock()
	if !leaving {
		return nil
	}
	var at control.Shown
	if w.p.Shown != nil {
		at = w.p.Shown(ctx)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	mint, err := w.p.Minter.Mint()
	if err != nil {
		return err
	}
	return w.append(ctx, func() ([]journal.Draft, error) {
		return w.p.Fold.AnswerShutdown(w.p.Fold.Turn() == nil || w.turn == nil && (w.waitsForLimit() || w.borrowing() != nil || w.p.Lead.Halt != nil), w.busyWith(), at, w.p.Lead, mint)
	})
}

// busyWith returns the reason why this worker cannot end now. The caller holds mu.
func (w *Worker) busyWith() string {
	t := w.p.Fold.Turn()
	if t == nil {
		return ""
	}
	what := "reading messages"
	if t.Task != "" {
		what = "task " + t.Task
	}
	if b := w.p.Fold.Blocking(); len(b) > 0 {
		asked := string(b[0].ID)
		if r, ok := w.p.Lead.Request(b[0].Key); ok && r.Handle != "" {
			asked = r.Handle
		}
		return fmt.Sprintf("busy: %s waits for an answer to %s", what, asked)
	}
	return fmt.Sprintf("busy: %s is not finished", what)
}

// Close releases what Open took. It is called after Run has returned; closing again does nothing.
func (w *Worker) Close() error {
	w.mu.Lock()
	steps := w.close
	w.close = nil
	w.mu.Unlock()
	var errs []error
	for _, step := range slices.Backward(steps) {
		errs = append(errs, step())
	}
	return errors.Join(errs...)
}
