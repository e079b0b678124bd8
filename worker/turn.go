package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"waggle/agent"
	"waggle/control"
	"waggle/internal/caught"
	"waggle/internal/cut"
	"waggle/journal"
	"waggle/machine"
	"waggle/mailbox"
	"waggle/message"
	"waggle/poll"
	"waggle/protocol"
	"waggle/record"
	"waggle/task"
)

// turn is one turn of the agent in this process.
type turn struct {
	ctx      context.Context
	work     record.Taken
	task     *control.TaskState                 // nil: chat
	past     map[record.Key]bool                // calls that were answered from the record
	claimed  map[record.Key]*int                // calls that were started here, and by which of those that asked
	held     map[record.Key]bool                // calls that the agent runs itself, and has not ended
	claims   map[protocol.RequestID]agent.Claim // those of them that were asked at the member's socket
	stop     context.CancelCauseFunc
	catching sync.Mutex             // held while words for the turn are caught
	heard    []protocol.Mail        // words that an earlier process gave its session in this turn
	said     map[words]int          // what an earlier process said in it, and this one has not said again
	resumed  bool                   // the agent's conversation has the history of the process before
	over     bool                   // its host returns only errors
	checked  bool                   // the check of its task has passed
	checking bool                   // it runs; with mu
	before   map[task.Artifact]bool // artifacts when it began; nil: it has not
	made     []string               // those that it made or changed
	ran      []record.Key           // the calls that a halt has found running; nil: none has
}

// turnEnd is the outcome of a turn.
type turnEnd struct {
	res         agent.Result
	err         error
	interrupted bool
	steered     bool // stopped by words of the lead
}

var (
	// errInterrupted ends a turn that cannot continue.
	errInterrupted = errors.New("interrupted")
	// errBorrowed cuts a turn short because a person takes its conversation.
	errBorrowed = errors.New("a person has taken the session over")
	// errSteered ends a turn because the lead's record says so.
	errSteered = errors.New("interrupted by words of the lead")
)

// Deliver implements poll.Machine. An idle session takes the chat of the batch as one turn, with the events of the
// members for the agent behind the lead; without chat it takes its next task whose blockers are done, and without one
// begins a turn that the agent wants. A busy session takes nothing. A turn that an earlier process left, or that a usage
// limit has cut short, is taken up first, when the limit is over. While a budget is used up nothing is taken but a turn
// that the agent wants, whose calls wait. While a person has the conversation, and while all work is stopped, nothing is taken.
func (w *Worker) Deliver(ctx context.Context, chat []message.Incoming) ([]mailbox.ID, error) {
	w.trouble.Note("pass", nil, "")
	next := w.unblocked(ctx)
	out, err := w.halts(ctx)
	if !out && err == nil {
		out, err = w.yields(ctx)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.passed)
	w.passed = make(chan struct{})
	if out || err != nil {
		return nil, err
	}
	stop := w.steered(chat)
	if w.turn != nil {
		if stop {
			w.turn.stop(errSteered)
		}
		return nil, nil
	}
	if t := w.p.Fold.Turn(); t != nil {
		if stop || !w.waitsForLimit() && !w.paused(ctx) {
			w.takeUp(*t, stop)
		}
		return nil, nil
	}
	if w.p.Fold.State() != machine.Idle {
		return nil, nil
	}
	todo := next != nil && !next.Taken && !next.Ended
	wakes := func(in message.Incoming) bool { return w.p.Lead.Wakes(in.Entry, in.Envelope) }
	words := slices.ContainsFunc(chat, wakes) || w.newsDue() || len(w.asks()) > 0 || len(w.late()) > 0
	if (words || todo) && w.paused(ctx) {
		return nil, w.takeOwn(ctx)
	}
	if words {
		return w.takeChat(ctx, chat)
	}
	if !todo {
		return nil, w.takeOwn(ctx)
	}
	if err := w.take(ctx, record.Taken{Task: next.ID}); err != nil {
		return nil, err
	}
	w.launch(&turn{work: *w.p.Fold.Turn(), task: next}, w.doTask)
	return nil, nil
}

// maxChat is how much chat one turn takes, and a little more: no session reads a mailbox
// of any size at once. The rest is for the turns that follow.
const maxChat = 2 << 20

// Wants implements poll.Bounded. Interrupts of the lead are always wanted.
func (w *Worker) Wants(in message.Incoming, before int) bool {
	if before < maxChat {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.priority(in.Entry) != record.PriorityNormal
}

// unblocked is the first waiting task without an open blocker on the board, nil when there is none.
// The board decides the order of work, never the work itself. A task whose blockers cannot be read
// may start: its turn reads them again and reports the error.
func (w *Worker) unblocked(ctx context.Context) *control.TaskState {
	w.mu.Lock()
	var waiting []*control.TaskState
	if w.turn == nil && w.p.Fold.State() == machine.Idle {
		waiting = w.p.Fold.Waiting()
	}
	w.mu.Unlock()
	for _, t := range waiting {
		if open, err := w.p.Board.Blockers(ctx, task.ID(t.ID)); err != nil || len(open) == 0 {
			return t
		}
	}
	return nil
}

// take records the next turn's work. The caller holds mu.
func (w *Worker) take(ctx context.Context, t record.Taken) error {
	return w.append(ctx, func() ([]journal.Draft, error) {
		// Words that were withdrawn by now are not taken: Withdraw records the withdrawal and then
		// reads this journal (operator/mail, Withdraw).
		if err := w.p.Leader.Refresh(ctx); err != nil {
			return nil, err
		}
		return w.p.Fold.Take(t, w.p.Lead)
	})
}

// takeChat begins a turn with the chat of a batch. The caller holds mu.
func (w *Worker) takeChat(ctx context.Context, chat []message.Incoming) (ids []mailbox.ID, err error) {
	taken := record.Taken{Plan: w.p.Plans}
	var mails []protocol.Mail
	shown := map[*control.Order]bool{}
	for _, in := range chat {
		id, err := mailbox.ParseID(in.Entry)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
		taken.Entries = append(taken.Entries, in.Entry)
		if o := w.p.Lead.Spoken(in.Entry); o == nil || !shown[o] { // one message, with any number of copies
			shown[o] = o != nil
			mails = append(mails, mailOf(in.Envelope))
		}
	}
	if news := w.news(); len(news) > 0 {
		taken.News, mails = uint64(w.p.Lead.Head()), append(mails, newsMail(news))
	}
	asks := w.asks()
	if len(asks) > 0 {
		mails = append(mails, asksMail(asks))
	}
	late := w.late()
	if len(late) > 0 {
		mails = append(mails, lateMail(late))
	}
	if len(asks)+len(late) == 0 {
		taken.Hops = w.hops(chat)
	}
	err = w.take(ctx, taken)
	if errors.Is(err, control.ErrUnsaid) {
		w.wake() // the next pass reads them again
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, r := range asks {
		w.told[r.Key] = true
	}
	w.tellLate(late)
	w.launch(&turn{work: taken}, func(t *turn) (agent.Result, error) { return w.readChat(t, mails) })
	return ids, nil
}

// hops counts, for a turn with this chat and the events that wait, the turns in which agents only answered each other,
// this one too. What a person said begins anew. The caller holds mu.
func (w *Worker) hops(chat []message.Incoming) int {
	hops := record.MaxHops
	for _, in := range chat {
		if w.p.Lead.Spoken(in.Entry) != nil {
			return 0
		}
		hops = min(hops, record.Hops(in.Envelope)+1)
	}
	for _, n := range w.news() {
		hops = min(hops, n.Hops+1)
	}
	return hops
}

// takeOwn begins a turn that the agent asked for. It is not resumed after a crash, because the
// agent that asked has ended. The caller holds mu.
func (w *Worker) takeOwn(ctx context.Context) error {
	if !w.wanted {
		return nil
	}
	if err := w.take(ctx, record.Taken{}); err != nil {
		return err
	}
	w.launch(&turn{work: *w.p.Fold.Turn()}, func(t *turn) (agent.Result, error) {
		return w.agentTurn(t.ctx, t, w.resuming(agent.Work{Cwd: w.p.Cwd}))
	})
	return nil
}

// agentTurn has the agent do a turn, which also serves what it wanted one of its own for.
func (w *Worker) agentTurn(ctx context.Context, t *turn, work agent.Work) (agent.Result, error) {
	w.mu.Lock()
	w.wanted = false
	w.mu.Unlock()
	return w.p.Agent.Turn(ctx, host{w, t}, work)
}

func mailOf(e protocol.Envelope) protocol.Mail {
	return protocol.Mail{From: e.From, Color: e.Color, Summary: e.Summary, Text: e.Text}
}

// takeUp begins the turn of an earlier process again, for a session that has seen nothing of it,
// unless the lead has stopped it meanwhile. The caller holds mu.
func (w *Worker) takeUp(work record.Taken, stop bool) {
	t := &turn{work: work, said: w.saidBefore(), heard: w.heardBefore()}
	w.goesOn(t)
	for _, ts := range w.p.Fold.Tasks {
		if ts.ID == work.Task && ts.Taken && !ts.Ended {
			t.task = ts
		}
	}
	switch {
	case stop:
		w.launch(t, func(*turn) (agent.Result, error) { return agent.Result{}, errSteered })
	case t.task != nil:
		w.launch(t, w.doTask)
	case work.Task != "":
		w.launch(t, func(*turn) (agent.Result, error) { return agent.Result{}, errInterrupted })
	default:
		w.launch(t, w.readAgain)
	}
}

// launch runs a turn beside the loop. The caller holds mu.
func (w *Worker) launch(t *turn, do func(*turn) (agent.Result, error)) {
	ctx, stop := context.WithCancelCause(w.ctx)
	t.stop, t.ctx, t.past, t.claimed = stop, ctx, map[record.Key]bool{}, map[record.Key]*int{}
	t.held, t.claims = map[record.Key]bool{}, map[protocol.RequestID]agent.Claim{}
	w.turn = t
	w.turns.Go(func() { w.guard(func() { w.play(t, do) }) })
}

// play runs a turn and records its end.
func (w *Worker) play(t *turn, do func(*turn) (agent.Result, error)) {
	end := turnEnd{err: errors.New("the agent ended its goroutine")}
	// Deferred, so that it also runs when the agent ends its goroutine.
	defer func() {
		ctx := t.ctx
		end.interrupted = ctx.Err() != nil && (end.err != nil || end.res.Failed) || errors.Is(end.err, errInterrupted) || errors.Is(end.err, errSteered)
		end.steered = errors.Is(end.err, errSteered) || errors.Is(context.Cause(ctx), errSteered)
		t.stop(nil)
		var why error // the turn is left open
		if l, limited := errors.AsType[*agent.Limited](end.err); limited && !end.interrupted && w.suspend(t, l) {
			why = l
		} else if cause := context.Cause(ctx); end.interrupted && (errors.Is(cause, errBorrowed) || errors.Is(cause, errHalted)) && w.part(t, cause) {
			why = cause
		}
		if why != nil {
			w.active(false)
			w.status(task.MemberIdle, why.Error())
			return
		}
		w.mu.Lock()
		w.retries = 0
		w.mu.Unlock()
		w.end(t, end)
	}()
	w.status(task.MemberRunning, "")
	w.active(true)
	w.tellMode(t.ctx)
	if t.before == nil {
		t.before = map[task.Artifact]bool{}
		for _, a := range w.files() {
			t.before[a] = true
		}
	}
	end.res, end.err = w.guarded(t, do)
	w.bring()
}

// bring puts the turn's changes on record, and fetches the member's branch into the repository. After an error it tries
// again after the next turn, and when the worktree is removed or kept.
func (w *Worker) bring() {
	if w.p.Bring == nil {
		return
	}
	w.trouble.Note("branch", w.p.Bring(context.WithoutCancel(w.ctx)), "not all of the turn is in the repository, will retry after the next turn")
}

// guarded turns an agent's panic into a failed turn.
func (w *Worker) guarded(t *turn, do func(*turn) (agent.Result, error)) (res agent.Result, err error) {
	err = caught.Do(func() (err error) {
		res, err = do(t)
		return err
	})
	if p := caught.Of(err); p != nil {
		w.p.Log.Error("the agent panicked", "what", p.Error(), "stack", string(p.Stack))
		err = fmt.Errorf("the agent panicked: %v", p.Value)
	}
	return res, err
}

func (w *Worker) readChat(t *turn, mails []protocol.Mail) (agent.Result, error) {
	w.note(protocol.TextForm(mails...))
	return w.agentTurn(t.ctx, t, w.resuming(agent.Work{Mail: mails, Cwd: w.p.Cwd}))
}

// readAgain gives the chat of an interrupted turn to the new session, which has seen nothing of it.
func (w *Worker) readAgain(t *turn) (agent.Result, error) {
	entries, err := w.entries(t.ctx)
	if err != nil {
		return agent.Result{}, err
	}
	entries = append(w.kept(), entries...)
	there := map[string]protocol.Envelope{}
	for _, e := range entries {
		if e.Err == nil {
			there[e.ID.String()] = e.Envelope
		}
	}
	var mails []protocol.Mail
	for _, id := range t.work.Entries {
		w.mu.Lock()
		again := w.p.Fold.Copy(id, w.p.Lead)
		w.mu.Unlock()
		if again {
			continue
		}
		if env, ok := there[id]; ok {
			mails = append(mails, mailOf(env))
		} else if env, ok := w.spoken(id); ok {
			mails = append(mails, mailOf(env))
		}
	}
	mails = append(append(mails, w.newsAgain()...), t.heard...)
	if len(mails) == 0 {
		return agent.Result{}, errInterrupted
	}
	return w.readChat(t, mails)
}

// entries reads the mailbox for a turn that needs its chat: the journal has the chat as taken, and
// no other process would give it. It tries until ctx ends.
func (w *Worker) entries(ctx context.Context) ([]mailbox.Entry, error) {
	for again := newBackoff(); ; {
		es, err := w.p.Box.Entries(ctx)
		w.trouble.Note("read again", err, "the turn that is taken up waits for its mailbox")
		if err == nil || ctx.Err() != nil {
			return es, err
		}
		again.Wait(ctx)
	}
}

// spoken is the message that the leader's record has for an entry that is not in the mailbox any
// more.
func (w *Worker) spoken(entry string) (protocol.Envelope, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	o := w.p.Lead.Spoken(entry)
	if o == nil || entry != o.Hash+"#1" {
		return protocol.Envelope{}, false
	}
	env, err := o.Mail.Open()
	return env, err == nil
}

func (w *Worker) doTask(t *turn) (agent.Result, error) {
	if err := w.onBoard(t); err != nil {
		return agent.Result{}, err
	}
	cwd, err := w.taskDir(t.task.Cwd)
	if err != nil {
		return agent.Result{}, err
	}
	return w.untilDone(t, cwd)
}

// errTampered refuses a task whose board entry is not what was assigned.
var errTampered = errors.New("its instructions on the board are not the ones that were assigned")

// onBoard marks the task in progress. Any program can write task files: a task whose instructions
// differ from those of the assignment is refused (trust §1).
func (w *Worker) onBoard(t *turn) error {
	again := newBackoff()
	for try := 1; ; try++ {
		err := w.begun(t.ctx, t.task)
		var state *task.StateError
		var missing *task.NotFoundError
		if err == nil {
			w.trouble.Note("board", nil, "")
			return nil
		}
		short := poll.Lack(err) != nil
		w.trouble.Note("board", err, "the task waits until the board can be written")
		if errors.Is(err, errTampered) || errors.As(err, &state) || errors.As(err, &missing) || try >= boardTries && !short || t.ctx.Err() != nil {
			return fmt.Errorf("task %s: %w", t.task.ID, err)
		}
		again.Wait(t.ctx) // a lock, or a half-written file: it may pass
	}
}

// boardTries is how often a board that cannot be read or written is tried. For want of
// space or descriptors no task fails: that waits for as long as it takes.
const boardTries = 5

func (w *Worker) begun(ctx context.Context, t *control.TaskState) error {
	b, err := w.p.Board.Get(ctx, task.ID(t.ID))
	switch {
	case err != nil:
		return err
	case record.HashText(b.Description) != t.SHA256:
		return errTampered
	case b.Status == task.InProgress && protocol.SameName(protocol.MemberName(b.Owner), w.p.Fold.Name):
		return nil
	case w.givenBack(b):
		_, err = w.p.Board.Claim(ctx, b.ID, w.p.Fold.Name)
		return err
	}
	_, err = w.p.Board.Start(ctx, b.ID, w.p.Fold.Name)
	return err
}

// givenBack reports a task that the leader gave back when it gave up restarting this member, and
// that has no owner since. The order for it is still valid: a restarted member claims it, and of
// several that claim it one gets it.
func (w *Worker) givenBack(t task.Task) bool {
	r, ok := t.Released()
	return ok && t.Owner == "" && protocol.SameName(r.From, w.p.Fold.Name)
}

// end records the end of a turn, shows it on the board and sends it to the lead: task_completed
// when the task is done, then idle_notification. The turn has ended when that is recorded; until
// then the worker stays busy.
func (w *Worker) end(t *turn, end turnEnd) {
	w.mu.Lock()
	t.over = true
	w.mu.Unlock()
	defer w.wake()
	idle, said := w.idle(t, end)
	t.made = w.made(t)
	w.active(false)
	err := w.record(w.ctx, w.ending(t, idle, said, end.res))
	if err != nil && !final(err) && w.ctx.Err() == nil {
		// The agent's result is no valid message: report only that.
		said.Failed, said.Note, idle.Result, idle.FailureReason = true, "its result is not valid in a message: "+err.Error(), "", "its result is not valid in a message"
		err = w.record(w.ctx, w.ending(t, idle, said, agent.Result{}))
	}
	if err != nil {
		w.p.Log.Error("end of turn is not on record", "err", err)
		return
	}
	ctx := context.WithoutCancel(w.ctx)
	if t.task != nil {
		if !said.Failed {
			w.bulletin.completed()
		}
		w.mu.Lock()
		w.unshown = append(w.unshown, shown{task.ID(t.task.ID), t.task.Ref, said.Failed})
		w.mu.Unlock()
		w.show(ctx)
	}
	w.flush(ctx)
	_ = w.enforce(ctx) // the grants of this turn have ended
	w.status(task.MemberIdle, said.Note)
	w.mu.Lock()
	w.turn = nil
	w.mu.Unlock()
}

// ending drafts the records of a turn's end, all together. Once they are recorded it drafts
// nothing.
func (w *Worker) ending(t *turn, idle protocol.IdleNotification, said record.Said, res agent.Result) func() ([]journal.Draft, error) {
	return func() (ds []journal.Draft, err error) {
		if w.turn != t || w.p.Fold.Turn() == nil {
			return nil, nil
		}
		ds = w.unended(t)
		if t.task != nil && idle.IdleReason != interrupted {
			errs, note := []string{}, tidy(res.Summary)
			if said.Failed {
				errs, note = append(errs, said.Note), said.Note
			}
			done, err := w.say(func(now string) protocol.Payload {
				return protocol.TaskCompleted{From: string(w.p.Fold.Name), TaskID: t.task.ID, TaskSubject: t.task.Subject, Timestamp: now,
					Result: &protocol.TaskResult{Summary: tidy(res.Summary), Artifacts: t.made, Errors: errs}}
			}, record.Said{Task: t.task.ID, Failed: said.Failed, Checked: said.Checked, Note: note})
			if err != nil {
				return refuse(nil, err)
			}
			ds = append(ds, done...)
		}
		more, err := w.say(func(now string) protocol.Payload { idle.Timestamp = now; return idle }, said)
		return refuse(append(ds, more...), err)
	}
}

// interrupted is the idleReason of a turn that was cut short: its task stays open.
const interrupted = "interrupted"

// toPeer names the recipient of the last message to a peer in the turn that ends, with its summary
// and not its text (protocol §1.12). "" when there was none.
func (w *Worker) toPeer() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.p.Fold.Outbox
	for i := len(out) - 1; i >= 0 && out[i].Mail.Kind != protocol.KindIdleNotification; i-- {
		if out[i].Mail.Kind != protocol.KindText || out[i].Mail.To == protocol.Lead {
			continue
		}
		if env, err := out[i].Mail.Open(); err == nil {
			return cut.Runes("[to "+string(out[i].Mail.To)+"] "+env.Summary, longestSummary)
		}
	}
	return ""
}

// longestSummary is where real clients cut a summary (protocol §1.18).
const longestSummary = 200

// idle makes the report of a worker at the end of a turn.
func (w *Worker) idle(t *turn, end turnEnd) (protocol.IdleNotification, record.Said) {
	idle := protocol.IdleNotification{From: string(w.p.Fold.Name), IdleReason: "available", Summary: w.toPeer(), Result: tidy(end.res.Summary)}
	said := record.Said{Failed: end.res.Failed || end.err != nil, Checked: t.checked, Note: tidy(end.res.Reason)}
	switch {
	case end.interrupted:
		idle.IdleReason, idle.Result, said.Failed, said.Note = interrupted, "", true, interrupted
		if end.steered {
			said.Note = errSteered.Error()
		}
	case end.err != nil:
		reason := tidy(end.err.Error())
		idle.IdleReason, idle.Result, idle.FailureReason, said.Note = "failed", "", reason, reason
	case end.res.Failed:
		idle.FailureReason = tidy(end.res.Reason)
	}
	if w.p.Fold.Guest && idle.Summary == "" { // its lead may read no result
		first, _, _ := strings.Cut(cmp.Or(idle.Result, idle.FailureReason), "\n")
		idle.Summary = cut.Runes(first, longestSummary)
	}
	if t.work.Task != "" {
		said.Task, idle.CompletedTaskID, idle.CompletedStatus = t.work.Task, t.work.Task, "resolved"
		if said.Failed {
			idle.CompletedStatus = "failed"
		}
	}
	return idle, said
}

// say drafts a status message. The caller holds mu.
func (w *Worker) say(payload func(now string) protocol.Payload, s record.Said) ([]journal.Draft, error) {
	mint, err := w.p.Minter.Mint()
	if err != nil {
		return nil, err
	}
	return w.p.Fold.Say(payload(protocol.FormatTime(mint.Now)), s, w.p.Lead, mint)
}

// longest is the most text of an agent about its turn that a message has.
const longest = agent.TailSize

// tidy makes an agent's text valid for a message.
func tidy(s string) string { return cut.Valid(s, longest) }
