package worker

import (
	"context"
	"slices"
	"time"

	"waggle/control"
)

// Enforcer opens the network for this member's tools, as far as it is told. It is
// told everything that holds now, not what has changed, and may be told the same
// again; what is not among it is closed. It is called by one goroutine at a time.
type Enforcer interface {
	Enforce(ctx context.Context, grants []control.Grant) error
}

// enforce tells the enforcer what holds now, if that has changed. An error means
// that it may not hold: the next pass tries again.
func (w *Worker) enforce(ctx context.Context) error {
	if w.p.Network == nil {
		return nil
	}
	w.enforcing.Lock()
	defer w.enforcing.Unlock()
	w.mu.Lock()
	grants := w.p.Fold.Grants(w.p.Lead, w.p.Minter.Now())
	w.mu.Unlock()
	if w.enforced && slices.EqualFunc(grants, w.grants, sameGrant) {
		return nil
	}
	w.enforced = false
	err := w.p.Network.Enforce(ctx, grants)
	w.trouble.Note("network", err, "what is granted of the network does not hold yet, will retry")
	if err == nil {
		w.grants, w.enforced = grants, true
	}
	return err
}

func sameGrant(a, b control.Grant) bool {
	at := func(t *time.Time) time.Time {
		if t == nil {
			return time.Time{}
		}
		return *t
	}
	untilA, untilB := at(a.Until), at(b.Until)
	a.Until, b.Until = nil, nil
	return a == b && untilA.Equal(untilB)
}
