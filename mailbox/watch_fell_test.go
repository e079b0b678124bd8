package mailbox_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"waggle/internal/caught"
	"waggle/mailbox"
)

// TestWatchFalls: a panic in a watch ends it and is reported.
func TestWatchFalls(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fell := make(chan error, 1)
	nudges, err := mailbox.Watch(t.Context(), mailbox.WatchOptions{Interval: time.Hour, Match: func(string) bool { panic("no such luck") },
		Fell: func(err error) { fell <- err }}, dir)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "ann.json"), []byte("[]"), 0o600))
	select {
	case err := <-fell:
		if p := caught.Of(err); p == nil || p.Value != "no such luck" {
			t.Errorf("%v", err)
		}
	case <-time.After(20 * time.Second):
		t.Skip("this system has no file events")
	}
	for range nudges { // until it is closed
	}
}
