package claudesettings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"waggle/internal/fs/atomicfile"
	"waggle/internal/fs/logfile"
	"waggle/internal/json/jsonc"
)

// RefusedError says why a settings file is not touched, and what to do.
type RefusedError struct {
	Path, Why, Next string
	Err             error // the cause, may be nil
}

func (e *RefusedError) Error() string { return e.Path + " " + e.Why }

// Unwrap returns Err.
func (e *RefusedError) Unwrap() error { return e.Err }

// ErrChanged is the cause of a refusal because the file is another than the one that was
// shown.
var ErrChanged = errors.New("changed since it was shown")

// place is the state of a settings file on disk.
type place struct {
	Path   string // as it was named
	Real   string // behind all links
	Exists bool
	noDir  bool // its directory does not exist, but the one above it does
	info   fs.FileInfo
	data   []byte // what it holds; nil when there is none
}

// find looks a settings file up and reads it: find, without links where it is of a repository.
func (s Store) find(path string) (*place, error) {
	for _, p := range []string{filepath.Dir(path), path} {
		fi, err := os.Lstat(p)
		if s.Project && err == nil && fi.Mode()&fs.ModeSymlink != 0 {
			return nil, &RefusedError{path, "would be written through the link " + p + ", which the repository chooses", "put a directory and a file in its place, or leave --project out", nil}
		}
	}
	return find(path)
}

// find looks a settings file up, behind links, and reads it.
func find(path string) (*place, error) {
	p := &place{Path: path}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		above, err := filepath.EvalSymlinks(filepath.Dir(filepath.Dir(path)))
		if err != nil {
			return nil, &RefusedError{path, "cannot be made: " + err.Error(), "make the directory first, or start the client once", err}
		}
		if _, err := os.Lstat(filepath.Dir(path)); err == nil {
			return nil, &RefusedError{path, "is in a directory that is a dangling link", "mend the link " + filepath.Dir(path), nil}
		}
		p.noDir, p.Real = true, filepath.Join(above, filepath.Base(filepath.Dir(path)), filepath.Base(path))
		return p, nil
	}
	if err != nil {
		return nil, &RefusedError{path, "cannot be reached: " + err.Error(), "", err}
	}
	p.Real = filepath.Join(dir, filepath.Base(path))
	fi, err := os.Lstat(p.Real)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return nil, &RefusedError{path, "cannot be inspected: " + err.Error(), "", err}
	}
	if fi.Mode()&fs.ModeSymlink != 0 {
		target, err := filepath.EvalSymlinks(p.Real)
		if _, serr := os.Stat(p.Real); errors.Is(serr, syscall.ELOOP) {
			return nil, &RefusedError{path, "is a link that leads back to itself", "remove the link, or let it point to a file", nil}
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, &RefusedError{path, "is a link that cannot be followed: " + err.Error(), "mend or remove the link", nil}
		}
		if err != nil {
			return nil, &RefusedError{path, "is a link to nothing: " + err.Error(), "make the file that it points to, or remove the link", nil}
		}
		p.Real = target
	}
	p.data, err = atomicfile.ReadFile(p.Real, atomicfile.Options{MaxSize: jsonc.MaxSize})
	if errors.Is(err, atomicfile.ErrTooLarge) {
		return nil, &RefusedError{path, fmt.Sprintf("is larger than %d bytes, which no settings file is", jsonc.MaxSize), "check its content", err}
	}
	if err != nil {
		return nil, &RefusedError{path, "cannot be read: " + err.Error(), "", err}
	}
	p.Exists = true
	p.info, err = os.Lstat(p.Real)
	return p, err
}

// writable refuses a file without write permission for its owner, although replacing it would
// succeed: its owner made it read-only on purpose.
func (p *place) writable() error {
	dir := filepath.Dir(p.Real)
	if p.noDir {
		dir = filepath.Dir(dir)
	}
	if fi, err := os.Stat(dir); err == nil && fi.Mode().Perm()&0o200 == 0 {
		return &RefusedError{p.Path, "lies in a directory that is read-only (" + dir + ")", "chmod u+w " + quote(dir) + ", or write the entries where the file is generated", fs.ErrPermission}
	}
	if !p.Exists {
		return nil
	}
	next := "chmod u+w " + quote(p.Real) + ", or, when another program generates it, add the entries of waggle hooks show there"
	if p.info.Mode().Perm()&0o200 == 0 {
		return &RefusedError{p.Path, "is read-only", next, fs.ErrPermission}
	}
	f, err := os.OpenFile(p.Real, os.O_WRONLY, 0)
	if err != nil {
		return &RefusedError{p.Path, "cannot be written: " + err.Error(), next, err}
	}
	f.Close()
	if !logfile.Alone(p.info) {
		return &RefusedError{p.Path, "has a second name (a hard link), and an edit would part the two", "make it one file: cp -p it and move the copy over it", nil}
	}
	return nil
}
