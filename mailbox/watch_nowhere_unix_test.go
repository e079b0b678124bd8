//go:build unix

package mailbox_test

import (
	"os"
	"path/filepath"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/mailbox"
)

// TestWatchFromNowhere: a directory that is named from a working directory which was removed is no
// place to watch.
func TestWatchFromNowhere(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "gone")
	testenv.Must(t, os.Mkdir(gone, 0o700))
	t.Chdir(gone)
	testenv.Must(t, os.Remove(gone))
	if nudges, err := mailbox.Watch(t.Context(), mailbox.WatchOptions{}, "sub"); err == nil || nudges != nil {
		t.Errorf("%v, %v", nudges, err)
	}
}
