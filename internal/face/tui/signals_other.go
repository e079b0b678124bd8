//go:build !unix

package tui

import (
	"context"
	"time"
)

// terminalSignals calls resized every second until ctx ends: this system does not say when the size
// of a terminal changes.
func terminalSignals(ctx context.Context, resized, _ func()) {
	clock := time.NewTicker(time.Second)
	defer clock.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-clock.C:
			resized()
		}
	}
}
