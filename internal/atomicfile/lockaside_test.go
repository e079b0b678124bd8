package atomicfile_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"waggle/internal/atomicfile"
)

// TestFlockAside: a path that is not a regular file cannot be locked. With Options.Aside it is
// moved there whole; without that the lock is refused.
func TestFlockAside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, aside := filepath.Join(dir, "lock"), filepath.Join(dir, "aside")
	for n, damage := range []func() error{
		func() error { return os.MkdirAll(filepath.Join(path, "full"), 0o700) },
		func() error { return os.Symlink("/nowhere", path) },
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		if _, _, err := atomicfile.TryFlock(path, atomicfile.Options{}); !errors.Is(err, atomicfile.ErrNotRegular) {
			t.Errorf("without a place: %v", err)
		}
		release, err := atomicfile.Flock(context.Background(), path, atomicfile.Options{Aside: aside})
		if err != nil {
			t.Fatal(err)
		}
		if kept, err := os.ReadDir(aside); err != nil || len(kept) != n+1 {
			t.Errorf("set aside %v, %v", kept, err)
		}
		if err := errors.Join(release(), os.Remove(path)); err != nil {
			t.Fatal(err)
		}
	}
}
