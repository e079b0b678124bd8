package atomicfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"waggle/internal/fs/atomicfile"
)

// TestFlocked: Flocked reports whether a process holds the lock, makes no file, and does not open a
// path that is not a regular file.
func TestFlocked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "x.lock")
	look := func(want bool) {
		t.Helper()
		if held, err := atomicfile.Flocked(path); held != want || err != nil {
			t.Errorf("held: %v, %v; want %v", held, err, want)
		}
	}
	look(false)
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("looking made the file: %v", err)
	}
	release := mustTry(t, path, atomicfile.Options{})
	look(true)
	must(t, release())
	look(false)
	if held, err := atomicfile.Flocked(dir); held || err != nil {
		t.Errorf("a directory is held: %v, %v", held, err)
	}
}

// TestRoom: a file system with room says so.
func TestRoom(t *testing.T) {
	t.Parallel()
	if err := atomicfile.Room(t.TempDir()); err != nil {
		t.Error(err)
	}
}
