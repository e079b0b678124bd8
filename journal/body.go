package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"waggle/internal/fs/atomicfile"
)

const bodiesDir = "bodies"

func (j *File) bodyPath(name string) string { return filepath.Join(j.dir, bodiesDir, name) }

// writeBody stores b under its hash, flushed before the line that names it. The
// lock is held.
func (j *File) writeBody(b []byte) (Ref, error) {
	ref := refOf(b)
	if err := j.storeBody(ref, b); err != nil {
		return Ref{}, j.failed(fmt.Errorf("body: %w", err))
	}
	return ref, nil
}

func (j *File) storeBody(ref Ref, b []byte) error {
	dir := filepath.Join(j.dir, bodiesDir)
	err := atomicfile.Mkdir(dir, 0o700)
	if err == nil {
		err = syncDir(j.dir, j.o.Sync)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, err := j.readBody(ref); err != nil {
		// One fixed name is enough: the lock admits one writer, and the file of a dead writer is
		// overwritten.
		temp := j.bodyPath(".new")
		if err := j.writeTemp(temp, b); err != nil {
			return err
		}
		if err := atomicfile.Rename(temp, j.bodyPath(ref.SHA256)); err != nil {
			return err
		}
	}
	return syncDir(dir, j.o.Sync) // the process that wrote the body may have died before this flush
}

func (j *File) writeTemp(path string, b []byte) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := atomicfile.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|openFlags, 0o600)
	if err != nil {
		return err
	}
	if err := j.writeSynced(f, b); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// writeSynced writes all of p to f and flushes it.
func (j *File) writeSynced(f *os.File, p []byte) error {
	n, err := j.o.Write(f, p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return err
	}
	return j.o.Sync(f)
}

// readBody reads a body file. A body file with the wrong content is a break. A failed read is not:
// it may succeed later.
func (j *File) readBody(ref Ref) ([]byte, error) {
	b, err := atomicfile.ReadFile(j.bodyPath(ref.SHA256), atomicfile.Options{MaxSize: MaxBody})
	found := &breach{file: path.Join(bodiesDir, ref.SHA256)}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		found.why = "the body is missing"
	case errors.Is(err, atomicfile.ErrNotRegular), errors.Is(err, atomicfile.ErrTooLarge):
		found.why = err.Error()
	case err != nil:
		return nil, j.failed(fmt.Errorf("body: %w", err))
	case refOf(b) != ref:
		found.why = "the body does not have its hash: it was changed"
	default:
		return b, nil
	}
	return nil, found
}
