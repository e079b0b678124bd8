package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// ReadFile reads path without a lock. It refuses a path that is not a regular file of at most
// o.MaxSize (ErrNotRegular, ErrTooLarge), follows no symlink in the last component, and never
// blocks on a FIFO. A file that another program rewrites in place may be read half; a file that
// this package writes is always read whole.
func ReadFile(path string, o Options) ([]byte, error) {
	data, _, err := ReadIdentified(path, o)
	return data, err
}

// ReadRecord is ReadFile of a file that the caller sets aside when it is no record: what is not a regular file, or too
// large, is a *RecordError.
func ReadRecord(path string, o Options) ([]byte, error) {
	data, err := ReadFile(path, o)
	if errors.Is(err, ErrNotRegular) || errors.Is(err, ErrTooLarge) {
		err = &RecordError{path, err}
	}
	return data, err
}

// ReadIdentified is ReadFile that also returns the identity of what was read: as
// long as Identify returns the same, reading again gives the same bytes. The
// identity is zero, which equals no file's, when the file changed so lately that
// a further change could look the same.
func ReadIdentified(path string, o Options) ([]byte, Identity, error) {
	f, fi, err := openRegular(path, o.maxSize())
	if err != nil {
		return nil, Identity{}, fmt.Errorf("read: %w", err)
	}
	defer f.Close()
	data, err := readAll(f, fi.Size())
	if err != nil {
		return nil, Identity{}, fmt.Errorf("read: %w", err)
	}
	id := identityOf(fi)
	if id.doubtful(o.now(), dirOf(path).fine()) {
		id = Identity{}
	}
	return data, id, nil
}

// swept remembers the files whose leftovers this process has removed.
var swept sync.Map // of string to struct{}

// WriteFile replaces path by data without taking its lock: for files of which
// the caller is the only writer. It flushes as o.Sync says and keeps the mode of
// an existing file. It refuses to replace what is not a regular file, unless
// o.Aside says where to put that, and data over o.MaxSize.
func WriteFile(path string, data []byte, o Options) error {
	path, err := canonical(path)
	if err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return write(placeOf(path), data, o)
}

// WriteWithin is WriteFile for a file of a directory that the caller holds open: whoever replaces
// the directory, or puts a link at its path, does not choose what is written. o.Aside has no effect.
func WriteWithin(root *os.Root, name string, data []byte, o Options) error {
	o.Aside = ""
	return write(place{root, root.Name(), name}, data, o)
}

func write(p place, data []byte, o Options) error {
	path := p.path()
	if int64(len(data)) > o.maxSize() {
		return fmt.Errorf("write: %w", tooLarge(path, int64(len(data)), o.maxSize()))
	}
	perm := o.perm()
	old, err := p.lstat()
	switch {
	case err == nil:
		if err = regular(path, old.Mode()); err == nil {
			perm = old.Mode()
		} else if o.Aside != "" {
			_, err = SetAside(path, o.Aside, o.now())
		}
		if err != nil {
			return fmt.Errorf("write: %w", err)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("write: %w", err)
	}
	if _, again := swept.LoadOrStore(path, struct{}{}); !again {
		removeTemps(p, newSuffix, o.now().Add(-time.Minute))
	}
	f, err := createTemp(p, newSuffix, perm)
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
		err = p.replace(filepath.Base(f.Name()))
	}
	if err != nil {
		p.discard(f)
		return fmt.Errorf("write: %w", err)
	}
	o.hook("published")
	if o.Sync == SyncFull {
		if err := syncDir(p.dir); err != nil {
			return fmt.Errorf("write: published, but the directory was not flushed: %w", err)
		}
	}
	return nil
}

func fill(f *os.File, data []byte, o Options) error {
	if _, err := Write(f, data); err != nil {
		return err
	}
	o.hook("temp-written")
	if o.Sync != SyncNone {
		if err := syncData(f); err != nil {
			return err
		}
	}
	return f.Close()
}

// Remove removes a regular file whose lock the caller holds, if its identity is still id, together
// with the shadow that an older waggle left; with SyncFull it flushes the directory. removed is false when
// the path is another file now. It is true when the path does not exist any more.
func Remove(path string, id Identity, o Options) (removed bool, err error) {
	now, err := Identify(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("remove: %w", err)
	case now != id:
		return false, nil
	}
	o.hook("checked")
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("remove: %w", err)
	}
	removeShadow(path)
	o.hook("removed")
	if o.Sync == SyncFull {
		if err := syncDir(filepath.Dir(path)); err != nil {
			return true, fmt.Errorf("remove: removed, but the directory was not flushed: %w", err)
		}
	}
	return true, nil
}
