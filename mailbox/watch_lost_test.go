package mailbox

import (
	"context"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

// TestWatchLostEvents: when the system reports that file events were lost, the watch sends a nudge.
func TestWatchLostEvents(t *testing.T) {
	events, err := fsnotify.NewWatcher()
	if err != nil {
		t.Skipf("no file events: %v", err)
	}
	w := &watch{o: WatchOptions{Interval: time.Hour}, nudges: make(chan struct{}, 1), events: events}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); w.run(ctx) }()
	for range 2 {
		select {
		case events.Errors <- fsnotify.ErrEventOverflow:
		case <-time.After(10 * time.Second):
			t.Fatal("nobody receives the error")
		}
		select {
		case <-w.nudges:
		case <-time.After(10 * time.Second):
			t.Fatal("no nudge")
		}
	}
	cancel()
	<-done
}
