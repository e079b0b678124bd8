package worker

import (
	"context"

	"waggle/journal"
	"waggle/record"
)

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
