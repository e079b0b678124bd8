package realpath

import (
	"testing"

	"golang.org/x/sys/unix"
)

// WithoutOpenat2 runs fn as on a kernel that has no openat2.
func WithoutOpenat2(t *testing.T, fn func(*testing.T)) {
	atOnce = func(string) (int, error) { return -1, unix.ENOSYS }
	t.Cleanup(func() { atOnce = openDirAtOnce })
	t.Run("without openat2", fn)
}
