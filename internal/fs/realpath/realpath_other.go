//go:build !unix

package realpath

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Real returns the absolute path that p reaches, with the links of its deepest
// existing ancestor followed.
func Real(p string) (string, error) {
	if !filepath.IsAbs(p) {
		return "", &fs.PathError{Op: "resolve", Path: p, Err: errRelative}
	}
	rest := ""
	for at := filepath.Clean(p); ; {
		real, err := filepath.EvalSymlinks(at)
		if err == nil {
			return filepath.Join(real, rest), nil
		}
		up := filepath.Dir(at)
		if _, lerr := os.Lstat(at); !errors.Is(lerr, fs.ErrNotExist) || up == at {
			return "", &fs.PathError{Op: "resolve", Path: p, Err: err}
		}
		at, rest = up, filepath.Join(filepath.Base(at), rest)
	}
}

// WriteFile writes data to the file at real, a path as Real returns it, and makes the file when
// there is none. This system cannot open a path without following links, so the path is resolved
// again before and after the file is opened, and nothing is written when its target has changed.
func WriteFile(real string, data []byte, perm fs.FileMode) error {
	fail := func(err error) error { return &fs.PathError{Op: "open", Path: real, Err: err} }
	if err := unmoved(real); err != nil {
		return fail(err)
	}
	if info, err := os.Lstat(real); err == nil {
		if err := mayWrite(info.Mode(), 1); err != nil {
			return fail(err)
		}
	}
	f, err := os.OpenFile(real, os.O_WRONLY|os.O_CREATE, perm)
	if err != nil {
		return err
	}
	if err := sameFile(f, real); err != nil {
		f.Close()
		return err
	}
	return writeAll(f, data)
}

// ReadFile reads the file at real, a path as Real returns it, of at most limit bytes. It reads only a file
// that is regular, at a path that holds no link before and after it was opened.
func ReadFile(real string, limit int64) ([]byte, error) {
	fail := func(err error) ([]byte, error) { return nil, &fs.PathError{Op: "read", Path: real, Err: err} }
	if err := unmoved(real); err != nil {
		return fail(err)
	}
	info, err := os.Lstat(real)
	if err == nil && !info.Mode().IsRegular() {
		err = errNotFile
	}
	if err != nil {
		return fail(err)
	}
	f, err := os.Open(real)
	var data []byte
	if err == nil {
		data, err = readAll(f, limit)
	}
	if err == nil {
		err = unmoved(real)
	}
	if err != nil {
		return fail(err)
	}
	return data, nil
}

func unmoved(real string) error {
	now, err := Real(real)
	if err == nil && now != filepath.Clean(real) {
		err = ErrLink
	}
	return err
}

// sameFile reports whether an open file is the one at a path that holds no link.
func sameFile(f *os.File, real string) error {
	open, err := f.Stat()
	if err != nil {
		return err
	}
	at, err := os.Lstat(real)
	if err != nil {
		return err
	}
	if !os.SameFile(open, at) {
		return &fs.PathError{Op: "open", Path: real, Err: ErrLink}
	}
	if err := mayWrite(open.Mode(), 1); err != nil {
		return &fs.PathError{Op: "open", Path: real, Err: err}
	}
	return unmoved(real)
}
