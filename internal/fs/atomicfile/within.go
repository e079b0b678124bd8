package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"
)

// WriteWithin is WriteFile for a file of a directory that the caller holds open: whoever replaces
// the directory, or puts a link at its path, does not choose what is written. o.Aside has no effect.
func WriteWithin(root *os.Root, name string, data []byte, o Options) error {
	path := filepath.Join(root.Name(), name)
	if int64(len(data)) > o.maxSize() {
		return fmt.Errorf("write: %w", tooLarge(path, int64(len(data)), o.maxSize()))
	}
	perm := o.perm()
	old, err := root.Lstat(name)
	switch {
	case err == nil:
		if err := regular(path, old.Mode()); err != nil {
			return fmt.Errorf("write: %w", err)
		}
		perm = old.Mode()
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("write: %w", err)
	}
	if _, again := swept.LoadOrStore(path, struct{}{}); !again {
		removeTempsWithin(root, name, o.now().Add(-time.Minute))
	}
	f, temp, err := createWithin(root, name, perm)
	if err != nil {
		return fmt.Errorf("write: %w", err)
	}
	if old != nil {
		keepOwner(f, old)
	}
	o.hook("temp-created")
	err = fill(f, data, o)
	if err == nil {
		o.hook("synced")
		err = renameWithin(root, temp, name)
	}
	if err != nil {
		f.Close()
		_ = root.Remove(temp)
		return fmt.Errorf("write: %w", err)
	}
	o.hook("published")
	if o.Sync == SyncFull {
		if err := syncDir(root.Name()); err != nil {
			return fmt.Errorf("write: published, but the directory was not flushed: %w", err)
		}
	}
	return nil
}

// createWithin makes ".<name>.<8 hex>.new" in a directory.
func createWithin(root *os.Root, name string, perm fs.FileMode) (f *os.File, temp string, err error) {
	if err := Failing(OpCreate, filepath.Join(root.Name(), name)); err != nil {
		return nil, "", err
	}
	for try := 0; ; try++ {
		temp = fmt.Sprintf(".%s.%08x.%s", name, rand.Uint32(), newSuffix)
		f, err = root.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if !errors.Is(err, fs.ErrExist) || try >= 100 {
			break
		}
	}
	if err != nil || perm.Perm() == 0o600 {
		return f, temp, err
	}
	if err := f.Chmod(perm.Perm()); err != nil {
		return nil, "", errors.Join(err, f.Close(), root.Remove(temp))
	}
	return f, temp, nil
}

// renameWithin renames over a file that a reader may have open for a moment.
func renameWithin(root *os.Root, from, to string) error {
	if err := Failing(OpRename, filepath.Join(root.Name(), to)); err != nil {
		return err
	}
	return patiently(func() error { return root.Rename(from, to) })
}

// removeTempsWithin removes the temporary files of a name that were last written before a time.
func removeTempsWithin(root *os.Root, name string, before time.Time) {
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return
	}
	for _, e := range entries {
		if isTemp(e, name, newSuffix, before) {
			_ = root.Remove(e.Name())
		}
	}
}
