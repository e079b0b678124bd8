package atomicfile_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"waggle/internal/fs/atomicfile"
)

// TestSetAside: a file of any type is moved unchanged, also twice at one time; a path that does not
// exist is no error.
func TestSetAside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, kept := filepath.Join(dir, "config.json"), filepath.Join(dir, "kept", "here")
	now := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	seen := map[string]bool{}
	for _, lay := range []func() error{
		func() error { return os.WriteFile(path, []byte("x"), 0o600) },
		func() error { return os.MkdirAll(filepath.Join(path, "in it"), 0o700) },
		func() error { return os.Symlink("/nowhere", path) },
	} {
		if err := lay(); err != nil {
			t.Skip(err) // links need a right on some systems
		}
		place, err := atomicfile.SetAside(path, kept, now)
		if err != nil || seen[place] || filepath.Dir(place) != kept {
			t.Errorf("%q %v", place, err)
		}
		seen[place] = true
		if _, err := os.Lstat(place); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(path); err == nil {
			t.Error("it is still there")
		}
	}
	if place, err := atomicfile.SetAside(path, kept, now); place != "" || err != nil {
		t.Errorf("of nothing: %q %v", place, err)
	}
}
