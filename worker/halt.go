package worker

import (
	"context"
	"errors"

	"waggle/journal"
	"waggle/record"
)

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
