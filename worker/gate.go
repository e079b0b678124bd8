package worker

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/idna"

	"waggle/agent"
	"waggle/control"
	"waggle/internal/cut"
	"waggle/journal"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
)

// host implements agent.Host for one turn. After the turn its methods only return errors.
type host struct {
	w *Worker
	t *turn
}

var _ agent.Host = host{}

// errTurnOver means that the agent called its host after its turn.
var errTurnOver = errors.New("the turn is over")

func (h host) Output() io.Writer { return h.w.p.Output }
func (h host) Environ() []string { return h.w.p.Environ }

// Caller implements agent.Host.
func (h host) Caller() []string {
	if h.w.socket == nil || h.w.spawn == "" {
		return nil
	}
	return []string{agent.EnvSocket + "=" + h.w.socket.Path(), agent.EnvSpawn + "=" + h.w.spawn}
}

func (h host) Run(ctx context.Context, c spawn.Command) (spawn.Exit, error) {
	ctx, leave := h.within(ctx)
	defer leave()
	return h.w.p.Exec.Run(ctx, c)
}

// within is ctx that ends with the turn too.
func (h host) within(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(h.t.ctx, func() { cancel(context.Cause(h.t.ctx)) })
	return ctx, func() { stop(); cancel(nil) }
}

// appendNow appends for as long as the turn lasts, and returns what is closed by
// the next change.
func (h host) appendNow(ctx context.Context, propose func() ([]journal.Draft, error)) (changed <-chan struct{}, err error) {
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	if h.t.over {
		return nil, errTurnOver
	}
	err = h.w.append(ctx, propose)
	return h.w.changed, err
}

// Tool implements agent.Gate: deliver the lead's next-tool words, ask, wait, claim the grant, run once, record.
func (h host) Tool(ctx context.Context, c agent.Call, run func(context.Context, json.RawMessage) agent.Ran) (agent.Outcome, error) {
	ctx, leave := h.within(ctx)
	defer leave()
	if err := h.outside(c); err != nil {
		return agent.Outcome{Decision: agent.Decision{Reason: err.Error(), By: "system"}}, nil
	}
	call, err := h.claim(ctx, c, false)
	switch {
	case errors.Is(err, errUnconfirmed):
		run = func(context.Context, json.RawMessage) agent.Ran { return agent.Ran{Failed: true, Err: err.Error()} }
	case err != nil:
		return agent.Outcome{}, err
	case !call.started:
		return agent.Outcome{Decision: call.Decision, Ran: call.ran}, nil
	}
	ran, err := h.runOnce(ctx, call.key, call.input, run)
	if err != nil {
		return agent.Outcome{}, err
	}
	return agent.Outcome{Decision: call.Decision, Ran: &ran}, nil
}

// claim delivers the lead's next-tool words, asks for a call, waits, and claims the grant. When the
// call is started, its start is on record and its input may run. With errUnconfirmed the start may
// be on record, and nothing runs. held says that the agent runs it and will say how it ended.
func (h host) claim(ctx context.Context, c agent.Call, held bool) (call answered, err error) {
	no, ok, err := h.afford(ctx)
	if !ok {
		return answered{Decision: no}, err
	}
	h.hear(ctx)
	found := h.look(c)
	for {
		call, err = h.ask(ctx, protocol.KindPermissionRequest, found.ask(h.w.p.Added), found.whole || len(c.Argv) == 0)
		if errors.Is(err, errLookAgain) {
			found = h.again(found)
			continue
		}
		if no, ok := denied(err); ok {
			call.Decision = no
			return call, nil
		}
		if err != nil || !call.Allowed || call.ran != nil {
			return call, err
		}
		call.input, err = h.start(ctx, call.key, found, held)
		var refused *control.GrantError
		var changed *changedError
		switch {
		case errors.Is(err, errTaken), errors.Is(err, errBorrowed), errors.Is(err, errHalted), errors.Is(err, errTakenBack):
			continue // a call beside this one used the grant, it waits (unborrowed), or its answer was taken back
		case errors.As(err, &changed):
			call.Decision, err = agent.Decision{Reason: changed.Error(), By: "system"}, nil
		case errors.As(err, &refused):
			call.Decision, err = agent.Decision{Reason: refused.Why, By: "rules"}, nil
		case ill(err) != nil:
			call.Decision, _ = denied(err)
			err = nil
		default:
			call.started = err == nil
		}
		return call, err
	}
}

// runOnce runs a call whose start is on record and records its end, also when run
// panics.
func (h host) runOnce(ctx context.Context, k record.Key, input string, run func(context.Context, json.RawMessage) agent.Ran) (ran agent.Ran, err error) {
	ran = agent.Ran{Failed: true, Err: "the agent gave up while it ran"}
	defer func() {
		err = h.w.record(h.w.ctx, func() ([]journal.Draft, error) { return h.w.p.Fold.Finish(finished(k, ran)), nil })
	}()
	ran = run(ctx, json.RawMessage(input))
	h.w.account(context.WithoutCancel(ctx))
	return ran, nil
}

// tidyTail keeps the end of a command's output.
func tidyTail(s string) string { return cut.End(s, agent.TailSize) }

// Plan implements agent.Gate.
func (h host) Plan(ctx context.Context, plan string) (agent.Decision, error) {
	a := record.Ask{Plan: plan}
	if keep := h.w.p.KeepPlan; keep != nil {
		path, err := keep(plan)
		h.w.trouble.Note("plan", err, "the plan is in no file; it is in the message and on record")
		if err == nil {
			a.PlanFile = path
		}
	}
	return h.question(ctx, protocol.KindPlanApprovalRequest, a)
}

// Network implements agent.Gate. A text that cannot be read as one host is denied
// here, without a question.
func (h host) Network(ctx context.Context, hostport, reason string) (agent.Decision, error) {
	name, port, err := policy.ReadHost(hostport, idna.Lookup.ToASCII)
	if err != nil {
		return agent.Decision{Reason: err.Error(), By: "system"}, nil
	}
	inner, leave := h.within(ctx)
	no, ok, err := h.afford(inner)
	leave()
	if !ok {
		return no, err
	}
	a := record.Ask{Host: name, Port: port, Reason: reason}
	ans, err := h.question(ctx, protocol.KindSandboxPermissionRequest, a)
	if err != nil || !ans.Allowed {
		return ans, err
	}
	if err := h.w.enforce(ctx); err != nil {
		return agent.Decision{Reason: "it was allowed and could not be opened: " + err.Error(), By: "system"}, nil
	}
	return ans, nil
}

func (h host) question(ctx context.Context, kind protocol.Kind, a record.Ask) (agent.Decision, error) {
	inner, leave := h.within(ctx)
	defer leave()
	call, err := h.ask(inner, kind, a, true)
	if no, ok := denied(err); ok {
		return no, nil
	}
	if kind == protocol.KindPlanApprovalRequest {
		err = h.takeBack(ctx, call.key, err)
	}
	return call.Decision, err
}

// takeBack withdraws a request that its agent gave up by ending ctx while its turn continues: it is
// not asked any more. err is what waiting for the answer came to.
func (h host) takeBack(ctx context.Context, k record.Key, err error) error {
	if err == nil || ctx.Err() == nil || h.t.ctx.Err() != nil {
		return err
	}
	why := "the agent gave it up"
	if e := (*agent.ElsewhereError)(nil); errors.As(context.Cause(ctx), &e) {
		why = e.Error()
	}
	werr := h.reopen(h.t.ctx, func() ([]journal.Draft, error) { return h.w.p.Fold.Withdraw(k, why), nil })
	if werr != nil {
		return errors.Join(err, werr)
	}
	return fmt.Errorf("%w: %w", agent.ErrWithdrawn, err)
}

type answered struct {
	agent.Decision
	key     record.Key
	ran     *agent.Ran // it ran already, before a crash
	replies []record.Reply
	started bool   // its grant is claimed
	input   string // and this runs
}

// errLookAgain means that no rule answers the call, so that its request must contain the contents
// too.
var errLookAgain = errors.New("the rules do not answer it any more")

// ask answers a request from the records of a resumed turn. Otherwise it records the request, sends
// it when no rule answers it, and waits. It sends a request only with the contents of scripts
// (whole).
func (h host) ask(ctx context.Context, kind protocol.Kind, a record.Ask, whole bool) (answered, error) {
	w := h.w
	if err := h.unborrowed(ctx); err != nil {
		return answered{}, err
	}
	mint, err := w.p.Minter.Mint()
	if err != nil {
		return answered{}, err
	}
	if kind == protocol.KindPermissionRequest && a.ToolUseID == "" {
		a.ToolUseID = "toolu_waggle_" + mint.Nonce
	}
	var key record.Key
	tried := false
	var past *control.Call
	err = h.reopen(ctx, func() ([]journal.Draft, error) {
		if past = h.before(kind, a); past != nil {
			return nil, nil
		}
		if err := w.p.Leader.Refresh(ctx); err != nil {
			return nil, err
		}
		if c, ok := w.p.Fold.Call(key); ok && tried && c.Epoch == w.p.Writer.Epoch {
			return nil, nil // the try that failed has left it there
		}
		k, ds, err := w.p.Fold.Ask(kind, a, w.p.Lead, mint)
		if !whole && err == nil && slices.ContainsFunc(ds, func(d journal.Draft) bool { return d.Kind == record.KindAsked }) {
			return nil, &refusal{errLookAgain}
		}
		key, tried = k, len(ds) > 0
		return refuse(ds, err)
	})
	if err != nil {
		return answered{}, err
	}
	if past != nil {
		return h.replay(past), nil
	}
	w.flush(ctx)
	ans, err := h.await(ctx, key)
	switch {
	case ans == nil:
		return answered{key: key}, err
	case ans.Revoked && err == nil && h.takenBack(key):
		return h.ask(ctx, kind, a, whole)
	}
	return answered{Decision: answerOf(ans), key: key, replies: ans.Answers}, err
}

// takenBack reports whether the operator has taken the answer to a request back.
func (h host) takenBack(k record.Key) bool {
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	return h.w.p.Lead.TakenBack(k)
}

// before returns the call in the records of a resumed turn. A conversation that continues with its
// history knows the recorded ends, so that the same call is a new one. The caller holds mu.
func (h host) before(kind protocol.Kind, a record.Ask) *control.Call {
	for {
		c := h.w.p.Fold.Replay(kind, a, h.t.past)
		if c == nil || !h.t.resumed || c.Finished == nil && c.Epoch < h.w.p.Writer.Epoch {
			return c
		}
		h.t.past[c.Key] = true
	}
}

// replay answers a call of a resumed turn from the records: a call that an earlier process ran is
// never run again, and one that it started without a recorded end has an unknown end.
func (h host) replay(c *control.Call) answered {
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	h.t.past[c.Key] = true
	out := answered{Decision: answerOf(c.Answer), key: c.Key, replies: c.Answer.Answers}
	if !c.Started {
		return out
	}
	out.ran = &agent.Ran{Failed: true, Err: "it was started before a crash and its end is unknown; it is not run again"}
	if f := c.Finished; f != nil {
		out.ran = &agent.Ran{ExitCode: f.ExitCode, Failed: f.Failed, Tail: f.Tail, Err: f.Error}
	}
	return out
}

func answerOf(a *record.Answered) agent.Decision {
	return agent.Decision{Allowed: a.Decision == record.DecisionAllow, Reason: a.Reason, By: string(a.By)}
}

// reopen appends as soon as the journal accepts it: after a rejected shutdown, a released lock,
// room on the disk, a repaired journal. Until then no call is asked or started. When the journal
// stays broken, the agent gets an error after GateWait. An append with an error may have recorded
// the drafts, so propose must check for them.
func (h host) reopen(ctx context.Context, propose func() ([]journal.Draft, error)) error {
	began := h.w.p.Minter.Now().UnixNano()
	for again := newBackoff(); ; {
		changed, err := h.appendNow(ctx, propose)
		var refused *refusal
		switch {
		case errors.Is(err, control.ErrShuttingDown):
			select {
			case <-changed:
			case <-ctx.Done():
			}
		case errors.As(err, &refused):
			return refused.err
		case errors.Is(err, errTurnOver) || !passes(err) || h.impatient(err, began):
			h.w.trouble.Note("gate", nil, "")
			return err
		default:
			h.w.trouble.Note("gate", err, "the gate waits for the journal")
			again.Wait(ctx)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// await waits until the question is answered, or patience ends: then the agent
// is told to retry and the question stays open.
func (h host) await(ctx context.Context, k record.Key) (*record.Answered, error) {
	var ans *record.Answered
	come, err := h.until(ctx, h.w.p.GateWait, func() bool {
		ans = h.w.answerTo(k)
		return ans != nil
	})
	if come || err != nil {
		return ans, err
	}
	return h.stopWaiting(ctx, k)
}

// until looks, with mu held, at once, after each change and after each pass, until done says so. False: patience, if
// there is any, or ctx has ended before.
func (h host) until(ctx context.Context, patience time.Duration, done func() bool) (bool, error) {
	var over <-chan time.Time
	if patience > 0 {
		t := time.NewTimer(patience)
		defer t.Stop()
		over = t.C
	}
	for {
		h.w.mu.Lock()
		did := done()
		changed, passed := h.w.changed, h.w.passed
		h.w.mu.Unlock()
		if did {
			return true, nil
		}
		select {
		case <-changed:
		case <-passed:
		case <-over:
			return false, nil
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// answerTo is the answer that a question has, nil while it is open. The caller
// holds mu.
func (w *Worker) answerTo(k record.Key) *record.Answered {
	c, ok := w.p.Fold.Call(k)
	if !ok || c.Answer == nil || c.Answer.Waited {
		return nil
	}
	return c.Answer
}

// stopWaiting ends the agent's patience, unless the answer came just then.
func (h host) stopWaiting(ctx context.Context, k record.Key) (*record.Answered, error) {
	reason := fmt.Sprintf("nobody has answered within %s; retry when %s is approved", h.w.p.GateWait, k.ID)
	if k.Kind == record.KindQuestion {
		reason = fmt.Sprintf("%s: nobody has within %s, and the question stays open; ask it again to wait on", record.NoAnswer, h.w.p.GateWait)
	}
	ans := &record.Answered{Key: k, Decision: record.DecisionDeny, Reason: reason, By: policy.RoleSystem}
	err := h.reopen(ctx, func() ([]journal.Draft, error) {
		if a := h.w.answerTo(k); a != nil {
			ans = a
			return nil, nil
		}
		return h.w.p.Fold.StopWaiting(k, reason), nil
	})
	return ans, err
}

var (
	// errTakenBack: the operator has taken the allow back, and the call is asked again.
	errTakenBack = errors.New("its answer was taken back")
	// errTaken: another call of this turn used the grant.
	errTaken = errors.New("the grant was used by another call")
	// errUnconfirmed: the start may or may not be on disk. No call runs then.
	errUnconfirmed = errors.New("its start could not be put on record for sure, so it was not run")
)

// start claims the grant in this worker's journal, looking at the leader's once more under the
// lock, and returns the input that may run. It withdraws a grant when a file of the call does not
// exist any more.
func (h host) start(ctx context.Context, k record.Key, l looked, held bool) (input string, err error) {
	w, me := h.w, new(int)
	if changed := h.unchanged(k, l); changed != nil {
		err := h.reopen(ctx, func() ([]journal.Draft, error) { return w.p.Fold.Revoke(k, changed.Error()), nil })
		return "", cmp.Or(err, changed)
	}
	tried, back := false, false
	err = h.reopen(ctx, func() ([]journal.Draft, error) {
		if err := w.p.Leader.Refresh(ctx); err != nil {
			return nil, err
		}
		if back = w.p.Lead.TakenBack(k); back {
			return w.p.Fold.Reask(w.p.Lead), nil
		}
		if b := w.borrowing(); b != nil && (b.Now || len(w.p.Fold.Running()) == 0) {
			return nil, &refusal{errBorrowed}
		}
		if w.p.Lead.Halt != nil {
			return nil, &refusal{errHalted}
		}
		if c, ok := w.p.Fold.Call(k); ok && c.Started && tried && h.t.claimed[k] == me {
			return nil, &refusal{errUnconfirmed}
		} else if ok && c.Started && h.t.claimed[k] != nil {
			return nil, &refusal{errTaken}
		}
		ds, err := w.p.Fold.Start(k, w.p.Writer.Epoch, w.p.Lead, w.p.Minter.Now())
		if err != nil {
			return nil, &refusal{err}
		}
		c, _ := w.p.Fold.Call(k)
		input = c.Input()
		h.t.claimed[k], tried = me, true
		h.t.held[k] = held
		return ds, nil
	})
	if back && err == nil {
		err = errTakenBack
	}
	return input, err
}

// Say implements agent.Voice: it appends plain words to the journal before it sends them. When the
// mailbox is locked, a later pass delivers them.
func (h host) Say(ctx context.Context, to, text, summary string) error {
	name, err := protocol.ParseMember(to)
	if err != nil {
		return err
	}
	if k := protocol.DecodeText(text).Kind; k != protocol.KindText && k != protocol.KindUnknown {
		return fmt.Errorf("text for %s is a %s message: only the machine sends those", to, k)
	}
	if summary == "" {
		summary, _, _ = strings.Cut(text, "\n")
	}
	w := h.w
	if w.leads && protocol.SameName(name, protocol.Lead) {
		return errToItself
	}
	if _, err := w.boxOf(name); err != nil {
		return err // no such recipient: no record is made
	}
	mint, err := w.p.Minter.Mint()
	if err != nil {
		return err
	}
	return h.tell(ctx, words{name, protocol.KindText, text, summary}, func() ([]journal.Draft, error) {
		return w.p.Fold.Tell(name, text, summary, w.p.Lead, mint)
	})
}

// words identify a message: two messages with equal words are one.
type words struct {
	to      protocol.MemberName
	kind    protocol.Kind
	text    string
	summary string
}

// wordsOf reads a message's words; false when it is none that an agent says.
func wordsOf(m *record.Mail) (words, bool) {
	env, err := m.Open()
	if err != nil {
		return words{}, false
	}
	switch m.Kind {
	case protocol.KindText:
		return words{m.To, m.Kind, env.Text, env.Summary}, true
	case protocol.KindTaskProgress:
		p, ok := protocol.Decode(env).Payload.(protocol.TaskProgress)
		return words{m.To, m.Kind, p.Progress.Message, p.Progress.Phase}, ok
	}
	return words{}, false
}

// saidBefore counts the messages that an earlier process, or this one before a usage limit, sent in
// the current turn: all since the notice that ended the turn before. The caller holds mu.
func (w *Worker) saidBefore() map[words]int {
	said := map[words]int{}
	out := w.p.Fold.Outbox
	for i := len(out) - 1; i >= 0 && out[i].Mail.Kind != protocol.KindIdleNotification; i-- {
		if s, ok := wordsOf(out[i].Mail); ok && out[i].Seq <= max(w.earlier, w.cut) {
			said[s]++
		}
	}
	return said
}

// tell records a message, once, and sends it. A message that an earlier process sent in this turn
// is not sent again.
func (h host) tell(ctx context.Context, say words, draft func() ([]journal.Draft, error)) error {
	ctx, leave := h.within(ctx)
	defer leave()
	w, before := h.w, -1
	w.mu.Lock()
	again := h.t.said[say] > 0
	if again {
		h.t.said[say]--
	}
	w.mu.Unlock()
	if again {
		return nil
	}
	err := h.reopen(ctx, func() ([]journal.Draft, error) {
		out := w.p.Fold.Outbox
		if before < 0 {
			before = len(out)
		}
		ds, err := draft()
		for _, d := range ds {
			said, ok := d.Body.(record.Said)
			if ok && slices.ContainsFunc(out[before:], func(s control.Sending) bool { return bytes.Equal(s.Mail.Envelope, said.Mail.Envelope) }) {
				return nil, nil // the try that failed has left it there
			}
		}
		return refuse(ds, err)
	})
	if err != nil {
		return err
	}
	w.flush(ctx)
	return nil
}

// Progress implements agent.Voice.
func (h host) Progress(ctx context.Context, phase, message string) error {
	mint, err := h.w.p.Minter.Mint()
	if err != nil {
		return err
	}
	id := h.t.work.Task
	p := protocol.TaskProgress{RequestID: id, Timestamp: protocol.FormatTime(mint.Now), Progress: protocol.Progress{Phase: phase, Message: message}}
	s := record.Said{ID: protocol.RequestID(id), Task: id, Note: tidy(phase + ": " + message)}
	return h.tell(ctx, words{protocol.Lead, protocol.KindTaskProgress, message, phase}, func() ([]journal.Draft, error) {
		return h.w.p.Fold.Say(p, s, h.w.p.Lead, mint)
	})
}
