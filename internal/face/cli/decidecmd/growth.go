package decidecmd

import (
	"context"
	"slices"
	"time"

	"waggle/mailbox"
)

// growth waits for journals to grow. It keeps one watch for as long as the directories are the same: a new one
// wakes its reader at once, for what came before it.
type growth struct {
	every time.Duration // a wait is no longer, where the system reports no change

	dirs   []string
	nudges <-chan struct{}
	cancel context.CancelFunc
}

// wait waits until something has changed in a directory, or it is time.
func (g *growth) wait(ctx context.Context, dirs []string) error {
	if g.nudges == nil || !slices.Equal(g.dirs, dirs) {
		g.end()
		watch, cancel := context.WithCancel(ctx)
		nudges, err := mailbox.Watch(watch, mailbox.WatchOptions{Interval: g.every}, dirs...)
		if err != nil {
			cancel()
			return err
		}
		g.dirs, g.nudges, g.cancel = slices.Clone(dirs), nudges, cancel
	}
	select {
	case <-ctx.Done():
	case <-g.nudges:
	}
	return nil
}

// end ends the watch.
func (g *growth) end() {
	if g.nudges == nil {
		return
	}
	g.cancel()
	for range g.nudges { // until the watcher has ended
	}
	g.nudges = nil
}
