package leader

import (
	"context"

	"waggle/journal"
	"waggle/record"
)

// home checks whether the team's directory is still in its place. It records and logs a change. No
// process ends because of it: decisions and orders are in the journals.
func (l *Leader) home(ctx context.Context) {
	if l.p.Look == nil {
		return
	}
	n := l.p.Look()
	if n == nil {
		return
	}
	n.Tell(l.p.Log)
	l.trouble.Note("home", n.Err, "not all of the team's mail could be kept")
	l.mu.Lock()
	err := l.append(ctx, func() ([]journal.Draft, error) {
		return []journal.Draft{{Kind: record.KindNoticed, Body: record.Noticed{What: n.What, Path: n.Path, Moved: n.Moved, Saved: n.Saved}}}, nil
	})
	l.mu.Unlock()
	l.trouble.Note("noticed", err, "the change of the team's directory is not recorded")
}
