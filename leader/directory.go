package leader

import (
	"context"

	"waggle/journal"
	"waggle/record"
)

// checkDirectory checks whether the team's directory is still in its place. It records and logs a change. No
// process ends because of it: decisions and orders are in the journals.
func (l *Leader) checkDirectory(ctx context.Context) {
	if l.p.CheckDirectory == nil {
		return
	}
	n := l.p.CheckDirectory()
	if n == nil {
		return
	}
	n.LogTo(l.p.Log)
	l.trouble.Note("directory", n.Err, "not all of the team's mail could be kept")
	l.mu.Lock()
	err := l.append(ctx, func() ([]journal.Draft, error) {
		return []journal.Draft{{Kind: record.KindNoticed, Body: record.Noticed{What: n.What, Path: n.Path, Moved: n.Moved, Saved: n.Saved}}}, nil
	})
	l.mu.Unlock()
	l.trouble.Note("noticed", err, "the change of the team's directory is not recorded")
}
