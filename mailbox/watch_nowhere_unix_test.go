//go:build unix

package mailbox_test

import (
	"os"
	"path/filepath"
	"testing"

	"waggle/mailbox"
)

// TestWatchFromNowhere: a directory that is named from a working directory which was removed is no
// place to watch.
func TestWatchFromNowhere(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "gone")
	must(t, os.Mkdir(gone, 0o700))
	t.Chdir(gone)
	must(t, os.Remove(gone))
	if nudges, err := mailbox.Watch(t.Context(), mailbox.WatchOptions{}, "sub"); err == nil || nudges != nil {
		t.Errorf("%v, %v", nudges, err)
	}
}
