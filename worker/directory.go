package worker

import (
	"context"

	"waggle/journal"
	"waggle/record"
)

// checkDirectory checks whether the team's directory is still in its place. It records and logs a change. The
// worker does not end because of it: decisions and orders are in the journals.
func (w *Worker) checkDirectory(ctx context.Context) {
	if w.p.CheckDirectory == nil {
		return
	}
	n := w.p.CheckDirectory()
	if n == nil {
		return
	}
	n.LogTo(w.p.Log)
	w.trouble.Note("directory", n.Err, "not all of the team's mail could be kept")
	w.mu.Lock()
	err := w.append(ctx, func() ([]journal.Draft, error) {
		return []journal.Draft{{Kind: record.KindNoticed, Body: record.Noticed{What: n.What, Path: n.Path, Moved: n.Moved, Saved: n.Saved}}}, nil
	})
	w.mu.Unlock()
	w.trouble.Note("noticed", err, "the change of the team's directory is not recorded")
}
