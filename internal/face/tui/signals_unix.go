//go:build unix

package tui

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// terminalSignals calls resized when the size of the terminal has changed, and continued when this
// process was stopped and goes on, until ctx ends.
func terminalSignals(ctx context.Context, resized, continued func()) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGWINCH, syscall.SIGCONT)
	defer signal.Stop(signals)
	for {
		select {
		case <-ctx.Done():
			return
		case s := <-signals:
			if s == syscall.SIGCONT {
				continued()
			}
			resized()
		}
	}
}
