package worker

import (
	"context"
	"slices"
	"time"

	"waggle/control"
)

// Enforcer opens the network for this member's tools. Each call passes all valid grants, not the
// changes, and may repeat them; Enforcer closes every other connection. One goroutine at a time
// calls it.
type Enforcer interface {
	Enforce(ctx context.Context, grants []control.Grant) error
}

// enforce gives the enforcer the valid grants when they have changed. After an error they may not
// be in force: the next pass tries again.
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
	w.trouble.Note("network", err, "the granted hosts are not open yet, will retry")
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
