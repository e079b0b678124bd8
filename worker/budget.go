package worker

import (
	"context"
	"errors"
	"time"

	"waggle/agent"
	"waggle/control"
	"waggle/journal"
	"waggle/policy"
)

// paused reports whether this member takes no work because a budget is used up. It asks for a larger
// one, and takes that back when it is not needed any more. The caller holds mu.
func (w *Worker) paused(ctx context.Context) bool {
	over := w.p.Fold.Over(w.p.Lead) != nil
	if !over && (w.p.Fold.BudgetCall() == nil || !w.p.Fold.BudgetCall().Open()) {
		return false
	}
	before := len(w.p.Fold.Outbox)
	err := w.append(ctx, w.budget)
	if errors.Is(err, control.ErrShuttingDown) {
		err = nil
	}
	w.trouble.Note("budget", err, "the request for a larger budget is not on record, will retry")
	if len(w.p.Fold.Outbox) > before {
		w.wake() // the next pass sends it
	}
	return w.p.Fold.Over(w.p.Lead) != nil
}

// budget drafts the request for a larger budget, or takes it back. The caller holds mu.
func (w *Worker) budget() ([]journal.Draft, error) {
	if ds := w.p.Fold.Unpause(w.p.Lead); len(ds) > 0 {
		return ds, nil
	}
	mint, err := w.p.Minter.Mint()
	if err != nil {
		return nil, err
	}
	return refuse(w.p.Fold.Pause(w.p.Lead, mint))
}

// afford waits in a turn until the budgets allow a call. A false answer is why the call is denied:
// the agent's patience has ended, or nobody attends who could raise the budget.
func (h host) afford(ctx context.Context) (no agent.Decision, ok bool, err error) {
	w := h.w
	_, err = h.until(ctx, w.p.GateWait, func() bool {
		paused := !h.t.over && w.paused(ctx)
		e := w.p.Fold.Over(w.p.Lead)
		if ok = !paused || e == nil; ok {
			return true
		}
		no = agent.Decision{Reason: e.String() + ": ask again when it is raised", By: "system"}
		return w.unattended()
	})
	return no, ok, err
}

// unattended reports whether the request for a larger budget was denied because nobody is there. The
// caller holds mu.
func (w *Worker) unattended() bool {
	c := w.p.Fold.BudgetCall()
	return c != nil && c.Answer != nil && c.Answer.By == policy.RoleSystem && w.p.Fold.Broke(w.p.Lead) != nil
}

// How long a limit lasts whose end is not known, and how long one lasts at least: an agent that is limited
// at once when it goes on must not be asked all the time. What is passing is tried again after limitedLeast,
// and each time in a row after twice as long, up to limitedUsually.
const (
	limitedUsually = 5 * time.Minute
	limitedLeast   = 30 * time.Second
)

// suspend records that the agent's account is limited. The turn stays open, and is taken up at that
// time, also by a later process. False: that is not on record, and the turn ends as failed.
func (w *Worker) suspend(t *turn, l *agent.Limited) bool {
	now := w.p.Minter.Now()
	until := l.Until
	if until.IsZero() {
		until = now.Add(w.waitAgain(l.Passing))
	}
	if least := now.Add(limitedLeast); until.Before(least) {
		until = least
	}
	tried := false
	return w.setAside(t, "a limit", func() ([]journal.Draft, error) {
		if f := w.p.Fold.Limited; tried && f != nil && f.Until.Equal(until) {
			return nil, nil // the try that failed has left it there
		}
		tried = true
		return refuse(w.p.Fold.Limit(until, tidy(l.Reason)))
	})
}

// setAside records why the turn is left open, for a later pass or process to take up. False: that is not on record.
func (w *Worker) setAside(t *turn, what string, draft func() ([]journal.Draft, error)) bool {
	w.mu.Lock()
	t.over = true
	w.mu.Unlock()
	err := w.record(w.ctx, func() ([]journal.Draft, error) {
		ds, err := draft()
		return append(w.unended(t), ds...), err
	})
	if err != nil {
		w.p.Log.Error(what+" is not on record", "err", err)
		return false
	}
	w.mu.Lock()
	w.turn, w.aside = nil, t
	if n := len(w.p.Fold.Outbox); n > 0 {
		w.cut = w.p.Fold.Outbox[n-1].Seq
	}
	w.mu.Unlock()
	w.wake()
	return true
}

// waitAgain is how long a limit lasts whose end is not known.
func (w *Worker) waitAgain(passing bool) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !passing {
		w.retries = 0
		return limitedUsually
	}
	w.retries++
	return min(limitedLeast<<min(w.retries-1, 10), limitedUsually)
}

// waitsForLimit reports whether the turn that is open goes on later. The caller holds mu.
func (w *Worker) waitsForLimit() bool {
	_, limited := w.p.Fold.LimitedUntil(w.p.Minter.Now())
	return limited
}

// goesOn gives a turn that is taken up what the part of it that this process ran has left: its
// conversation, which knows what it did, and the files as they were before. The caller holds mu.
func (w *Worker) goesOn(t *turn) {
	if w.aside == nil {
		return
	}
	if _, t.resumed = w.p.Agent.(agent.Session); t.resumed {
		t.said = nil // what it says again it means
	}
	t.before, w.aside = w.aside.before, nil
}
