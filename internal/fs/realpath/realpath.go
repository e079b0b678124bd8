// Package realpath answers which file a path reaches once its symbolic links are followed, and
// opens exactly that file without following any.
//
// Real resolves a path when a request is asked, ReadFile reads the path that Real returned for the
// person who decides, and WriteFile writes it when the request is allowed. Meanwhile any component may
// have been replaced by a link; both then fail, and nothing is written.
//
// Real reads names and links only (lstat, readlink): it opens nothing, so that a FIFO or a device
// does not block it.
package realpath

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"waggle/internal/fs/atomicfile"
)

// Disk resolves on the file system of this machine; it is policy's Links.
type Disk struct{}

// Real is the function Real.
func (Disk) Real(path string) (string, error) { return Real(path) }

// Below returns a path as one relative to a directory, and whether it is the directory or below it, as both are spelled.
func Below(dir, path string) (rel string, ok bool) {
	rel, err := filepath.Rel(dir, path)
	return rel, err == nil && filepath.IsLocal(rel)
}

// Within reports whether a path is a directory or below it, as both are spelled.
func Within(dir, path string) bool {
	_, ok := Below(dir, path)
	return ok
}

// maxLinks is how many links a path may lead through, as Linux counts them.
const maxLinks = 40

var (
	// ErrLinks is the error of a path that leads through too many links, or in a circle.
	ErrLinks = errors.New("the path leads through too many symbolic links")
	// ErrLink is the error of a path that holds a link where it must hold none.
	ErrLink = errors.New("the path contains a symbolic link")
	// ErrKind is the error of a file that is not written: a FIFO, a device, a socket,
	// a directory, or a file with more than one name.
	ErrKind = errors.New("the file is not written")
	// errProcLink: /proc/self and /proc/PID/cwd lead elsewhere for another process.
	errProcLink = errors.New("the path leads through a link of /proc, which differs from process to process")
	// ErrSize is the error of a file that is larger than it may be.
	ErrSize     = errors.New("the file is too large")
	errNotFile  = errors.New("it is no regular file")
	errRelative = errors.New("the path is not absolute")
)

// mayWrite refuses a file that is not regular or has several names. A write to a second name of a
// file changes the first, which may be anywhere on the file system.
func mayWrite(mode fs.FileMode, names uint64) error {
	switch {
	case !mode.IsRegular():
		return fmt.Errorf("%w: it is %s", ErrKind, atomicfile.KindOf(mode))
	case names > 1:
		return fmt.Errorf("%w: it has %d names (hard links), and the others may be elsewhere; replace it by a copy first", ErrKind, names)
	}
	return nil
}

// writeAll makes data the content of an open file, and closes it.
func writeAll(f *os.File, data []byte) error {
	err := f.Truncate(0)
	if err == nil {
		_, err = f.Write(data)
	}
	return cmp.Or(err, f.Close())
}

// readAll reads an open file that is regular and not larger than limit, and closes it.
func readAll(f *os.File, limit int64) ([]byte, error) {
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNotFile
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		return nil, ErrSize
	}
	return data, err
}
