// Package leader is the runtime of a team's lead: it polls the lead's mailbox, steps the leader's
// machine, sends what is decided, watches the members' processes, and records members that have
// ended as left. A program that leads holds the leader lease; a command that needs one pass takes
// it for that pass (trust §5).
//
//	l, err := leader.Open(ctx, leader.Options{…}) // ErrLeading: another process leads
//	defer l.Close()
//	err = l.Pass(ctx)
//
// A pass may be repeated and may be interrupted anywhere: the next one sends, once, what was
// decided before. One member never delays another: not by a locked mailbox, not by a broken
// journal, not by a registry that cannot be written. Only an error of the leader's own journal or
// mailbox fails a pass.
package leader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"waggle/agent"
	"waggle/boxes"
	"waggle/control"
	"waggle/internal/asleep"
	"waggle/internal/backoff"
	"waggle/journal"
	"waggle/mailbox"
	"waggle/message"
	"waggle/policy"
	"waggle/poll"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
	"waggle/transport"
)

// Peers opens the journals of members, read only.
type Peers func(record.Instance) (journal.Journal, *control.Worker, error)

// Parts are the dependencies of a leader. New takes them from its caller, so that a leader can run
// in memory; Open makes them from files.
type Parts struct {
	Journal journal.Journal
	Fold    *control.Leader
	Writer  journal.Writer
	Box     mailbox.Store // the lead's
	Member  func(protocol.MemberName) (mailbox.Store, error)
	Peers   Peers
	Minter  poll.Minter
	// Alive reports whether a member's process runs, or one that has a member's conversation; nil: spawn.Identity.Check,
	// where a process that cannot be looked at counts as running.
	Alive func(spawn.Identity) bool
	// Refusal is why a member that requires a sandbox did not start; "": unknown. It must not block. nil: not called.
	Refusal func(*control.Member) string
	// Lost is called for a member that has died and is not started again, after the record: it
	// updates task-status.json. forsaken says that the program that runs this leader has started
	// its members (Begun), and not this one: the member's tasks are for others. Later leaders call
	// Lost again, and so does the next pass after an error. nil: not called.
	Lost func(ctx context.Context, m *control.Member, forsaken bool) error
	// Gone is called for a member that has ended, after the record: it updates the registry and the
	// board. The next pass calls it again after an error, and the first pass of a leader calls it
	// for every departed member, because the leader before may not have done so. nil: not called.
	Gone func(ctx context.Context, m *control.Member) error
	// Agent answers the requests that the policy gives to the lead; nil: they wait for the
	// operator.
	Agent agent.Decider
	// Leading does for the lead's agent what needs more than the journal; nil: nothing does.
	Leading Leading
	// Others lists names that may be of members that no journal here has: other
	// programs run those, and they obey files. Nil: there are none.
	Others func(context.Context) ([]protocol.MemberName, error)
	// Follow passes new records to observers, at the end of each pass. Its error does not fail the
	// pass. nil: no observers.
	Follow func(context.Context) error
	// Tend makes the registry agree with the record, and reports what other programs changed in it;
	// nil: the registry is not checked.
	Tend func(ctx context.Context, live func() []*control.Member) *Edited
	// CheckDirectory reports what happened to the team's directory since the last call; nil: it is not
	// checked.
	CheckDirectory func() *boxes.Change
	// Dismiss records a member whose process has died as left. Without it such a member stays and
	// may be restarted.
	Dismiss bool
	// Asleep is how long this machine was suspended since it was started; nil: asleep.Total.
	Asleep func() time.Duration
	// Supervise says that the program that runs this leader restarts such a member as its restart
	// policy says: the record of its death then has the time.
	Supervise bool
	// Input ends the standard input of a member's process. nil, or an error: that is not possible.
	Input func(context.Context, spawn.Identity) error
	// Rest ends the remaining processes of a member after its own process, and reports the hardest
	// step; nil: there is no search for them.
	Rest func(context.Context, *control.Member) (rung string, err error)
	// Mark is false when another program leads this team.
	Mark bool
	Log  *slog.Logger // nil: discard. Never a message body
}

// Leader runs the lead of one team. Its methods may be called from several
// goroutines, Close after the others have returned.
type Leader struct {
	p      Parts
	poller poll.Poller
	began  time.Time
	asleep time.Duration // of Parts.Asleep, as far as it is on record; with passing
	// preview: deadlines do not decide (Preview).
	preview bool

	passing sync.Mutex // held for a pass
	// After a pass that failed for lack of a resource (lacking: a full disk, too few descriptors) the next ones wait:
	// a retry at every nudge would make it worse. With passing.
	lacking error
	pause   backoff.Backoff
	sending sync.Mutex                   // held while mail goes out, in the order of the journal
	parting sync.Mutex                   // held while Gone is called
	held    atomic.Bool                  // an end has found a file locked for longer than it waits
	late    map[protocol.MemberName]bool // whose mailbox failed last time; with sending
	tried   map[journal.Seq]bool         // orders that may be in their mailbox and are not on record as sent; with sending

	// mu guards journals, folds and what follows. It is held while this process appends to a
	// journal, and so while it waits for the journal's flock, which is a leaf; it is never
	// held while another file is locked or a process is awaited.
	mu     sync.Mutex
	peers  map[record.Instance]*peer
	procs  map[record.Instance]*spawn.Process
	gone   map[record.Instance]bool           // found dead; the next pass records them as left
	found  bool                               // this pass added to gone
	lost   map[record.Instance]*spawn.Process // whose end is on record, of those that stay
	ending map[record.Instance]int            // Stops at work
	parted map[record.Instance]bool           // departed members for which Gone has succeeded; with parting
	shown  map[record.Instance]notice         // the calls of Lost that succeeded; with parting
	begun  atomic.Bool                        // Begun was called
	close  []func() error

	sockets []*transport.Socket // set by Open
	nudge   chan struct{}
	post    func(protocol.MemberName) (mailbox.Store, error) // the mailbox for messages from a socket, with the limits for strangers

	ctx        context.Context // of the lead agent; ends with Close
	cancel     context.CancelFunc
	agents     sync.WaitGroup
	consulting bool                  // the lead agent is being asked; with mu
	consulted  map[record.Key]uint64 // questions that it was asked, and under which policy; with mu

	trouble poll.Troubles
}

type peer struct {
	j    journal.Journal
	fold *control.Worker
}

// New returns a leader over ready-made parts.
func New(p Parts) *Leader {
	if p.Alive == nil {
		p.Alive = func(id spawn.Identity) bool { return !id.Ended() }
	}
	if p.Asleep == nil {
		p.Asleep = asleep.Total
	}
	if p.Gone == nil {
		p.Gone = func(context.Context, *control.Member) error { return nil }
	}
	p.Log = cmp.Or(p.Log, slog.New(slog.DiscardHandler))
	l := &Leader{p: p, began: p.Minter.Now(), asleep: p.Asleep(), late: map[protocol.MemberName]bool{}, tried: map[journal.Seq]bool{}, peers: map[record.Instance]*peer{},
		procs: map[record.Instance]*spawn.Process{}, gone: map[record.Instance]bool{}, lost: map[record.Instance]*spawn.Process{}, ending: map[record.Instance]int{}, parted: map[record.Instance]bool{},
		pause: backoff.Backoff{First: 100 * time.Millisecond, Most: 2 * time.Second, Chance: p.Minter.Rand},
		nudge: make(chan struct{}, 1), trouble: poll.Troubles{Log: p.Log}}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.consulted = map[record.Key]uint64{}
	l.poller = poll.Poller{Name: protocol.Lead, Box: p.Box, Machine: l, Mark: p.Mark}
	return l
}

// Pass runs one leader pass: it handles the members' reports, decides by deadlines and rules, sends
// what is decided, and records members that have ended as left. Before it records a member as left
// it reads the mailbox once more. After a pass that failed for lack of a resource the next ones
// wait (PausedError); the failure is logged once.
func (l *Leader) Pass(ctx context.Context) error {
	l.passing.Lock()
	defer l.passing.Unlock()
	if err := l.paused(); err != nil {
		return err
	}
	err := l.pass(ctx)
	if ctx.Err() == nil {
		l.passed(err)
	}
	return err
}

func (l *Leader) pass(ctx context.Context) error {
	if err := l.slept(ctx); err != nil {
		return err
	}
	if err := l.poller.Pass(ctx); err != nil {
		return err
	}
	l.mu.Lock()
	again := l.found
	l.found = false
	l.mu.Unlock()
	var err error
	if again {
		err = l.poller.Pass(ctx)
	}
	l.follow(ctx)
	return err
}

// slept records that the machine was suspended, before anything is found to be late.
func (l *Leader) slept(ctx context.Context) error {
	now := l.p.Asleep()
	l.mu.Lock()
	defer l.mu.Unlock()
	ds := l.p.Fold.Sleep(now - l.asleep)
	if len(ds) == 0 || l.preview {
		return nil
	}
	err := l.append(ctx, func() ([]journal.Draft, error) { return ds, nil })
	if err == nil {
		l.asleep = now
	}
	return err
}

// follow passes new records to the observers.
func (l *Leader) follow(ctx context.Context) {
	if l.p.Follow != nil {
		l.trouble.Note("follow", l.p.Follow(ctx), "observers did not get all transitions, will retry")
	}
}

// View calls fn with the fold as it is now. fn must not keep it.
func (l *Leader) View(fn func(*control.Leader)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fn(l.p.Fold)
}

// ViewMember calls fn with the fold of a member's journal, false when the member
// has none yet.
func (l *Leader) ViewMember(i record.Instance, fn func(*control.Worker)) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.peers[i]
	if p == nil || p.fold.Epoch == 0 {
		return false
	}
	fn(p.fold)
	return true
}

// Refresh implements poll.Machine: this journal and those of the members.
func (l *Leader) Refresh(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.p.Journal.Refresh(ctx); err != nil {
		return err
	}
	for _, m := range l.p.Fold.Live() {
		// A broken journal of one member must not stop the others.
		_, err := l.peer(ctx, m.Instance)
		l.trouble.Note("journal "+string(m.Instance), err, "journal of a member cannot be read", "member", m.Name)
	}
	return ctx.Err()
}

// peer returns a member's fold, up to date. The caller holds mu.
func (l *Leader) peer(ctx context.Context, i record.Instance) (*control.Worker, error) {
	p := l.peers[i]
	if p == nil {
		j, fold, err := l.p.Peers(i)
		if err != nil {
			return nil, err
		}
		p = &peer{j, fold}
		l.peers[i] = p
	}
	return p.fold, p.j.Refresh(ctx)
}

// reopen drops the reader of a broken journal, which looks again only after a pause: the last words
// of a member that has ended count as soon as its journal is whole again. The caller holds mu.
func (l *Leader) reopen(ctx context.Context, i record.Instance) {
	if p := l.peers[i]; p != nil && broken(p.j.Refresh(ctx)) {
		delete(l.peers, i)
	}
}

// Standing implements poll.Machine.
func (l *Leader) Standing(entry string) poll.Standing {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.p.Fold.Owns(entry) {
		return poll.Owned
	}
	return poll.New
}

// Receive implements poll.Machine. A message of a member whose journal is broken, or cannot be read
// now, waits until the journal can be read. The message of a member that has left has no evidence
// then.
func (l *Leader) Receive(ctx context.Context, in message.Incoming) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var from *control.Worker
	if m, ok := l.p.Fold.Member(protocol.MemberName(in.Envelope.From)); ok && m.Trust == record.FileTrust {
		return l.hearFile(ctx, in)
	} else if ok {
		w, err := l.peer(ctx, m.Instance)
		switch {
		case err != nil && (!poll.Final(err) || broken(err) && m.Left == nil):
			l.trouble.Note("journal "+string(m.Instance), err, "journal of a member cannot be read", "member", m.Name)
			return fmt.Errorf("journal of %s: %w", m.Name, errors.Join(poll.ErrLater, err))
		case err == nil && w.Epoch > 0:
			from = w
		}
		if from == nil || !from.Sent(in) {
			from = l.before(ctx, m.Name, in, from)
		}
	}
	spoken := l.spokenTo(in, from)
	return l.append(ctx, func() ([]journal.Draft, error) { return told(l.p.Fold.See(in, from), spoken), nil })
}

// before returns the journal of the member that had a name before, when it holds an entry: words that
// were written just before its end are read after the next member of that name has joined. Otherwise
// it returns now. The caller holds mu.
func (l *Leader) before(ctx context.Context, name protocol.MemberName, in message.Incoming, now *control.Worker) *control.Worker {
	m, ok := l.p.Fold.Before(name)
	if !ok || m.Left == nil || m.Trust == record.FileTrust || !in.IsControl() {
		return now
	}
	w, err := l.peer(ctx, m.Instance)
	if err != nil || w.Epoch == 0 || !w.Sent(in) {
		return now
	}
	return w
}

// broken reports a break of a journal that may be undone.
func broken(err error) bool {
	b, ok := errors.AsType[*journal.BrokenError](err)
	return ok && !b.Gone
}

// append appends to the leader's journal. The caller holds mu.
func (l *Leader) append(ctx context.Context, propose func() ([]journal.Draft, error)) error {
	_, err := l.p.Journal.Append(ctx, l.p.Writer, propose)
	for _, s := range l.sockets {
		s.Changed()
	}
	return err
}

// appendNow is append for a caller that does not hold mu.
func (l *Leader) appendNow(ctx context.Context, propose func() ([]journal.Draft, error)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.append(ctx, propose)
}

// appendDue appends what draft makes of the fold, if it makes anything now. The caller holds mu.
func (l *Leader) appendDue(ctx context.Context, draft func() []journal.Draft) error {
	if len(draft()) == 0 {
		return nil
	}
	return l.append(ctx, func() ([]journal.Draft, error) { return draft(), nil })
}

// Apply implements poll.Machine.
func (l *Leader) Apply(ctx context.Context) error {
	l.trouble.Directory(ctx, l.p.CheckDirectory, l.appendNow)
	l.tend(ctx)
	for _, step := range []func(context.Context) error{l.readers, l.decide, l.flush, l.reap, l.reclaim, l.guard} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	l.consult()
	l.part(ctx)
	l.forsake(ctx)
	return nil
}

// decide applies deadlines, rules and auto, expires words that were not taken in time, and records
// the effects that members' journals show.
func (l *Leader) decide(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.answers(ctx, l.due()); err != nil {
		return err
	}
	now := l.p.Minter.Now()
	if err := l.appendDue(ctx, func() []journal.Draft { return l.p.Fold.Lapse(now) }); err != nil {
		return err
	}
	return l.compare(ctx, l.p.Fold.Settle)
}

// Deny answers every open question in the system's name: the team is ending.
func (l *Leader) Deny(ctx context.Context) error {
	l.mu.Lock()
	err := l.answers(ctx, l.p.Fold.Ending())
	l.mu.Unlock()
	return errors.Join(err, l.flush(ctx))
}

// answers records the system's answers. One that cannot be made leaves its
// question open and does not stop the others; a journal that fails does. The
// caller holds mu.
func (l *Leader) answers(ctx context.Context, vs []control.Answer) error {
	for _, v := range vs {
		out, refused, err := decide(ctx, l.p.Journal, l.p.Fold, l.p.Writer, l.p.Minter, v)
		if err != nil {
			return err
		}
		if refused == nil {
			refused = out.Refusal
		}
		l.trouble.Note("answer of the system "+string(v.Instance)+" "+string(v.ID), refused, "question cannot be answered by the system", "id", v.ID)
	}
	return nil
}

// compare appends what draft makes of the journal of each member. The caller holds mu.
func (l *Leader) compare(ctx context.Context, draft func(*control.Worker) []journal.Draft) error {
	for _, m := range l.p.Fold.Live() {
		p := l.peers[m.Instance]
		if p == nil || p.fold.Epoch == 0 {
			continue
		}
		if err := l.appendDue(ctx, func() []journal.Draft { return draft(p.fold) }); err != nil {
			return err
		}
	}
	return nil
}

// Deliver implements poll.Machine: chat stays unread until the operator reads it. When an agent
// leads, its worker takes the chat (Mine).
func (l *Leader) Deliver(context.Context, []message.Incoming) ([]mailbox.ID, error) { return nil, nil }

// Assign orders a member to do a task and sends the order.
func (l *Leader) Assign(ctx context.Context, name protocol.MemberName, t record.Task) error {
	return l.command(ctx, name, func(m *control.Member, mint record.Mint) ([]journal.Draft, error) {
		return l.p.Fold.Assign(m, t, policy.RoleLeader, mint)
	})
}

// Shutdown asks a member to end. While an answer is outstanding a second call changes nothing.
func (l *Leader) Shutdown(ctx context.Context, name protocol.MemberName, reason string, by policy.Role) error {
	return l.command(ctx, name, func(m *control.Member, mint record.Mint) ([]journal.Draft, error) {
		return l.p.Fold.AskShutdown(m, reason, by, mint)
	})
}

// command records an order and sends it. A later pass sends what cannot be sent now: the error is
// only about the record.
func (l *Leader) command(ctx context.Context, name protocol.MemberName, draft func(*control.Member, record.Mint) ([]journal.Draft, error)) error {
	mint, err := l.p.Minter.Mint()
	if err != nil {
		return err
	}
	err = l.appendNow(ctx, func() ([]journal.Draft, error) {
		m, ok := l.p.Fold.Member(name)
		if !ok || m.Left != nil {
			return nil, fmt.Errorf("leader: %s is not a member", name)
		}
		return draft(m, mint)
	})
	if err != nil {
		return err
	}
	return l.flush(ctx)
}

// End records that the team has ended.
func (l *Leader) End(ctx context.Context, how string) error {
	return l.appendNow(ctx, func() ([]journal.Draft, error) {
		if l.p.Fold.Ended != nil {
			return nil, nil
		}
		return []journal.Draft{{Kind: record.KindEnded, Must: true, Body: record.Ended{How: how}}}, nil
	})
}

// Close ends the lead agent and the members that run in this process, and releases what Open took.
// The journal keeps those members: the next leader finds their process gone. Processes of other
// members continue. Closing again does nothing.
func (l *Leader) Close() error {
	l.cancel()
	l.agents.Wait()
	errs := []error{l.endInside()}
	l.mu.Lock()
	steps := l.close
	l.close = nil
	l.mu.Unlock()
	for _, step := range slices.Backward(steps) {
		errs = append(errs, step())
	}
	return errors.Join(errs...)
}

// Decide records the decision of a request in a leader's journal, from the leader itself and from
// any process of the operator. The process that leads sends the answer.
//
// with drafts what is appended in one write with an answer that counts, so that nobody reads the answer without it. The
// answer stands alone when with fails.
func Decide(ctx context.Context, j journal.Journal, fold *control.Leader, w journal.Writer, mint poll.Minter, v control.Answer, with ...func() ([]journal.Draft, error)) (control.Outcome, error) {
	out, refused, err := decide(ctx, j, fold, w, mint, v, with...)
	if err = errors.Join(refused, err); err != nil {
		return control.Outcome{}, err
	}
	return out, nil
}

// decide is Decide, which distinguishes an answer that the machine refused from a journal that
// failed.
func decide(ctx context.Context, j journal.Journal, fold *control.Leader, w journal.Writer, mint poll.Minter, v control.Answer, with ...func() ([]journal.Draft, error)) (out control.Outcome, refused, err error) {
	m, err := mint.Mint()
	if err != nil {
		return out, nil, err
	}
	_, err = j.Append(ctx, w, func() ([]journal.Draft, error) {
		out, refused = fold.Decide(v, w, m)
		all := slices.Clone(out.Drafts)
		for _, more := range with {
			if !out.Changed {
				break
			}
			switch ds, err := more(); {
			case err == nil:
				all = append(all, ds...)
			case len(v.Rules) > 0: // the answer tells of no rule that is not made
				v.Rules = nil
				out, refused = fold.Decide(v, w, m)
				all = slices.Clone(out.Drafts)
			}
		}
		return all, refused
	})
	if refused != nil && errors.Is(err, refused) {
		err = nil
	}
	return out, refused, err
}
