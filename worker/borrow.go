package worker

import (
	"context"
	"errors"

	"waggle/agent"
	"waggle/control"
	"waggle/internal/caught"
	"waggle/journal"
	"waggle/record"
)

// borrowing is who has the member's conversation, or waits for it: only the leader's journal says that.
// A process that has ended has it no more, whoever has recorded that. The caller holds mu.
func (w *Worker) borrowing() *control.Borrowing {
	m, ok := w.p.Lead.ByInstance(w.p.Fold.Instance)
	if _, can := w.p.Agent.(agent.Borrowable); !ok || !can || m.Borrowed == nil || w.p.Ended(m.Borrowed.By) {
		return nil
	}
	return m.Borrowed
}

// acts reports that a call of the turn runs, or the check of its task. The caller holds mu.
func (w *Worker) acts() bool { return len(w.p.Fold.Running()) > 0 || w.turn != nil && w.turn.checking }

// yields lets the member's conversation go to the person who takes it, and reports whether there is one:
// no turn begins then. A turn that runs is cut short as soon as none of its calls runs. The person's
// client may open the conversation once that is on record, after the agent's own client has ended.
func (w *Worker) yields(ctx context.Context) (out bool, err error) {
	w.mu.Lock()
	b := w.borrowing()
	busy := w.acts()
	if t := w.turn; b != nil && t != nil && (b.Now || !busy) {
		t.stop(errBorrowed)
	}
	due := b != nil && w.turn == nil && !busy && w.p.Fold.Yielded != uint64(b.Seq)
	w.mu.Unlock()
	if !due {
		return b != nil, nil
	}
	within, cancel := context.WithTimeout(ctx, closeTime)
	defer cancel()
	err = caught.Do(func() error { return w.p.Agent.(agent.Borrowable).Yield(within) })
	w.trouble.Note("yield", err, "the agent's conversation cannot be let go, will retry")
	if err != nil {
		return true, nil
	}
	return true, w.appendNow(ctx, func() ([]journal.Draft, error) { return w.p.Fold.Yield(b.Seq), nil })
}

// part leaves a turn that was cut short open, and closes what it had asked. False: that is not on record, and
// the turn ends as interrupted.
func (w *Worker) part(t *turn, why error) bool {
	return w.setAside(t, "a turn that was cut short", func() ([]journal.Draft, error) {
		if err := w.p.Leader.Refresh(w.ctx); err != nil {
			return nil, err
		}
		return w.p.Fold.Part(w.p.Lead, why.Error()), nil
	})
}

// unborrowed waits until nobody takes the conversation and all work goes on: meanwhile nothing is asked and no call
// starts, but for a person's taking of a call that runs, such as a subagent's.
func (h host) unborrowed(ctx context.Context) error {
	_, err := h.until(ctx, 0, func() bool {
		b, within := h.w.borrowing(), len(h.w.p.Fold.Running()) > 0
		return h.w.p.Lead.Halt == nil && (b == nil || within && !b.Now)
	})
	return err
}

// errHalted cuts a turn short because the operator has stopped all work.
var errHalted = errors.New("the operator's stop of all work")

// halts cuts the turn short while the operator has stopped all work, and records that nothing of the member
// runs any more. No turn begins meanwhile. Only the leader's journal says that it is stopped.
func (w *Worker) halts(ctx context.Context) (out bool, err error) {
	w.mu.Lock()
	h := w.p.Lead.Halt
	if t := w.turn; h != nil && t != nil {
		if t.ran == nil {
			t.ran = []record.Key{}
			for _, c := range w.p.Fold.Running() {
				t.ran = append(t.ran, c.Key)
			}
		}
		t.stop(errHalted)
	}
	due := h != nil && w.turn == nil && !w.acts() && w.p.Fold.Rested != uint64(h.Seq)
	var ran []record.Key
	if w.aside != nil {
		ran = w.aside.ran
	}
	w.mu.Unlock()
	if !due {
		return h != nil, nil
	}
	return true, w.appendNow(ctx, func() ([]journal.Draft, error) { return w.p.Fold.Rest(h.Seq, ran), nil })
}
