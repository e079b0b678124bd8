package testenv

import (
	"os"
	"testing"
)

// usual is the temporary directory that this test program would have had, where moved is true.
var (
	moved bool
	usual = os.TempDir()
)

// OnDisk takes the usual temporary directory again. TestMain calls it in a package whose members are in
// sandboxes, which have a /dev of their own.
func OnDisk() {
	if moved {
		moved = os.Unsetenv("TMPDIR") != nil
	}
}

// DiskDir is a directory for one test below the usual temporary directory.
func DiskDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp(Usual(), "waggle-test-")
	Must(t, err)
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// Usual is the usual temporary directory.
func Usual() string {
	if moved {
		return usual
	}
	return os.TempDir()
}
