package atomicfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"waggle/internal/fs/atomicfile"
)

func rootOf(t *testing.T, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	must(t, err)
	t.Cleanup(func() { root.Close() })
	return root
}

// The file is written into the directory that is held, wherever its path leads meanwhile.
func TestWriteWithinHeld(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	dir, elsewhere := filepath.Join(base, "dir"), filepath.Join(base, "elsewhere")
	for _, d := range []string{dir, elsewhere} {
		must(t, os.Mkdir(d, 0o700))
	}
	root := rootOf(t, dir)
	swap := func(step string) {
		if step != "temp-created" {
			return
		}
		if err := os.Rename(dir, dir+".held"); err != nil {
			t.Skip(err) // Windows keeps an open directory
		}
		if err := os.Symlink(elsewhere, dir); err != nil {
			t.Skip(err)
		}
	}
	must(t, atomicfile.WriteWithin(root, "f", []byte("new"), atomicfile.Options{Hook: swap}))
	if b, err := os.ReadFile(filepath.Join(dir+".held", "f")); err != nil || string(b) != "new" {
		t.Errorf("%q, %v", b, err)
	}
	if left, err := os.ReadDir(elsewhere); err != nil || len(left) > 0 {
		t.Errorf("written elsewhere: %v, %v", left, err)
	}
}

// WriteWithin refuses a path that is no regular file and leaves it. A second name of another file
// loses only the name; the mode stays, temporary files of a killed writer are removed, and a failure
// leaves the old content.
func TestWriteWithin(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root, secret := rootOf(t, dir), filepath.Join(t.TempDir(), "secret")
	put := func(path, text string, perm os.FileMode) {
		t.Helper()
		must(t, os.WriteFile(path, []byte(text), perm))
	}
	put(secret, "secret", 0o600)
	if err := os.Symlink(secret, filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	must(t, os.Mkdir(filepath.Join(dir, "dir"), 0o700))
	for _, name := range []string{"link", "dir"} {
		if err := atomicfile.WriteWithin(root, name, []byte("x"), atomicfile.Options{}); !errors.Is(err, atomicfile.ErrNotRegular) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := os.Link(secret, filepath.Join(dir, "hard")); err != nil {
		t.Skip(err)
	}
	left := filepath.Join(dir, ".hard.0123abcd.new")
	put(left, "of a killed writer", 0o600)
	old := time.Now().Add(-time.Hour)
	must(t, errors.Join(os.Chmod(secret, 0o640), os.Chtimes(left, old, old)))
	if err := atomicfile.WriteWithin(root, "hard", []byte("x"), atomicfile.Options{Sync: atomicfile.SyncFull}); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(secret); err != nil || string(b) != "secret" {
		t.Errorf("%q, %v", b, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "hard")); err != nil || info.Size() != 1 || os.Getuid() >= 0 && info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := os.Lstat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the leftover stays: %v", err)
	}
	if err := atomicfile.WriteWithin(root, "hard", make([]byte, 9), atomicfile.Options{MaxSize: 8}); !errors.Is(err, atomicfile.ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
	if err := atomicfile.WriteWithin(root, "no/parent", []byte("x"), atomicfile.Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no parent: %v", err)
	}
}

// A full disk leaves the old content and no temporary file.
func TestWriteWithinFails(t *testing.T) {
	dir := t.TempDir()
	root := rootOf(t, dir)
	must(t, atomicfile.WriteWithin(root, "f", []byte("old"), atomicfile.Options{}))
	full := errors.New("no space left")
	for _, op := range []atomicfile.Op{atomicfile.OpCreate, atomicfile.OpWrite, atomicfile.OpSync, atomicfile.OpRename} {
		undo := atomicfile.FailOps(func(o atomicfile.Op, _ string) error {
			if o == op {
				return full
			}
			return nil
		})
		err := atomicfile.WriteWithin(root, "f", []byte("new"), atomicfile.Options{Sync: atomicfile.SyncData})
		undo()
		if !errors.Is(err, full) {
			t.Errorf("%s: %v", op, err)
		}
		if b, err := os.ReadFile(filepath.Join(dir, "f")); err != nil || string(b) != "old" {
			t.Errorf("%s: %q, %v", op, b, err)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
			t.Errorf("%s: left %v, %v", op, entries, err)
		}
	}
}
