package worker

import (
	"cmp"
	"context"
	"time"

	"waggle/agent"
	"waggle/internal/caught"
	"waggle/journal"
	"waggle/policy"
	"waggle/record"
)

// Conversation implements agent.Account.
func (h host) Conversation(ctx context.Context, c agent.Conversation) error {
	h.w.mu.Lock()
	h.t.resumed = c.Resumed
	h.w.mu.Unlock()
	return h.account(ctx, func() ([]journal.Draft, error) { return h.w.p.Fold.Converse(record.Conversation(c)) })
}

// Used implements agent.Account.
func (h host) Used(ctx context.Context, u agent.Usage) error {
	b := record.Usage{ID: u.ID, Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, CostMicros: u.CostMicros, Turns: u.Turns, Source: record.UsageReported}
	if u.Estimated {
		b.Source = record.UsageEstimated
	}
	before, tried := record.Usage{}, false
	return h.account(ctx, func() ([]journal.Draft, error) {
		if tried && h.w.p.Fold.Usage != before {
			return nil, nil // the try that failed has left it there
		}
		before, tried = h.w.p.Fold.Usage, true
		return h.w.p.Fold.Use(b)
	})
}

// Steps implements agent.Account.
func (h host) Steps(ctx context.Context, steps []agent.DeclaredStep) error {
	var list []record.Step
	for _, s := range steps {
		list = append(list, record.Step(s))
	}
	return h.account(ctx, func() ([]journal.Draft, error) { return h.w.p.Fold.Declare(list) })
}

var _ agent.Waiter = host{}

// Waits implements agent.Waiter.
func (h host) Waits(ctx context.Context, why string) error {
	return h.account(ctx, func() ([]journal.Draft, error) { return h.w.p.Fold.Show(why), nil })
}

// account records a report of the agent about itself, also one that comes after its turn was
// interrupted.
func (h host) account(ctx context.Context, draft func() ([]journal.Draft, error)) error {
	turn, leave := h.within(ctx)
	defer leave()
	report := func(ctx context.Context) error {
		return h.reopen(ctx, func() ([]journal.Draft, error) { return refuse(draft()) })
	}
	if turn.Err() == nil {
		if err := report(turn); err == nil || turn.Err() == nil {
			return err
		}
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), lateTime)
	defer cancel()
	return report(late)
}

// lateTime limits the record of a report of an interrupted turn.
const lateTime = 5 * time.Second

// inherited drafts the conversation of the member that this one goes on as, before it has its own.
func (w *Worker) inherited() ([]journal.Draft, error) {
	m, ok := w.p.Lead.ByInstance(w.p.Fold.Instance)
	if !ok || m.Joined.Conversation == nil || w.p.Fold.Conversation != nil {
		return nil, nil
	}
	return w.p.Fold.Converse(*m.Joined.Conversation)
}

// resuming is the work of a turn with the conversation that this member has, if it has one.
func (w *Worker) resuming(work agent.Work) agent.Work {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c := w.p.Fold.Conversation; c != nil {
		work.Conversation, work.Lent = c.ID, w.p.Fold.Lent()
	}
	return work
}

// Time limits for a conversation to change its mode, and to end.
const (
	modeTime  = 5 * time.Second
	closeTime = 10 * time.Second
)

// tellMode sets the present mode in the agent's conversation, when it differs from the last one.
func (w *Worker) tellMode(ctx context.Context) {
	s, ok := w.p.Agent.(agent.Session)
	if !ok {
		return
	}
	w.telling.Lock()
	defer w.telling.Unlock()
	w.mu.Lock()
	mode := cmp.Or(w.p.Fold.Effective(w.p.Lead, w.p.Minter.Now()).Mode, policy.ModeDefault)
	runs := w.turn != nil && !w.turn.over
	w.mu.Unlock()
	if !runs || mode == w.mode {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, modeTime)
	defer cancel()
	err := caught.Do(func() error { return s.SetMode(ctx, mode) })
	w.trouble.Note("mode", err, "the agent's conversation has not taken its mode, will retry", "mode", mode)
	if err == nil {
		w.mode = mode
	}
}

// hangUp closes the agent's conversation after the last turn.
func (w *Worker) hangUp() {
	s, ok := w.p.Agent.(agent.Session)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	w.trouble.Note("close", caught.Do(func() error { return s.Close(ctx) }), "the agent's conversation did not end well")
}
