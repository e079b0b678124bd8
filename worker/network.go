package worker

import (
	"context"
	"slices"

	"waggle/control"
	"waggle/journal"
	"waggle/record"
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
	same := a.Until == b.Until || a.Until != nil && b.Until != nil && a.Until.Equal(*b.Until)
	a.Until, b.Until = nil, nil
	return same && a == b
}

// account records the connections that have ended.
func (w *Worker) account(ctx context.Context) {
	done := w.connections.Take()
	if len(done.Connections) == 0 && done.More == 0 {
		return
	}
	err := w.appendNow(ctx, func() ([]journal.Draft, error) {
		return []journal.Draft{{Kind: record.KindConnected, Body: done}}, nil
	})
	w.trouble.Note("connections", err, "connections are not on record yet, will retry")
	if err != nil {
		w.connections.Back(done)
	}
}
