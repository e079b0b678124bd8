package atomicfile

import (
	"io/fs"
	"os"
	"sync/atomic"
)

// Op is a file operation that a test can have fail.
type Op string

// Operations of this package and of those that go through it.
const (
	OpOpen     Op = "open"   // of a file that is there
	OpCreate   Op = "create" // of one that may not be
	OpMkdir    Op = "mkdir"
	OpWrite    Op = "write" // half of the data is written before it fails
	OpSync     Op = "sync"
	OpTruncate Op = "truncate"
	OpRename   Op = "rename"
)

var failing atomic.Pointer[func(op Op, path string) error]

// FailOps makes file operations of the whole program fail with the error that fail returns, until
// undo is called: a full disk, a broken one, too few descriptors. Only tests call it.
func FailOps(fail func(op Op, path string) error) (undo func()) {
	failing.Store(&fail)
	return func() { failing.Store(nil) }
}

// Failing is the error that a test wants of an operation, nil without one.
func Failing(op Op, path string) error {
	f := failing.Load()
	if f == nil {
		return nil
	}
	if err := (*f)(op, path); err != nil {
		return &fs.PathError{Op: string(op), Path: path, Err: err}
	}
	return nil
}

// unless does an operation that no test wants to fail.
func unless(op Op, path string, do func() error) error {
	if err := Failing(op, path); err != nil {
		return err
	}
	return do()
}

// OpenFile is os.OpenFile.
func OpenFile(path string, flag int, perm fs.FileMode) (*os.File, error) {
	op := OpOpen
	if flag&os.O_CREATE != 0 {
		op = OpCreate
	}
	if err := Failing(op, path); err != nil {
		return nil, err
	}
	return os.OpenFile(path, flag, perm)
}

// Write is f.Write.
func Write(f *os.File, p []byte) (int, error) {
	if err := Failing(OpWrite, f.Name()); err != nil {
		n, _ := f.Write(p[:len(p)/2])
		return n, err
	}
	return f.Write(p)
}

// Flush is f.Sync.
func Flush(f *os.File) error { return unless(OpSync, f.Name(), f.Sync) }

// Truncate is f.Truncate.
func Truncate(f *os.File, size int64) error {
	return unless(OpTruncate, f.Name(), func() error { return f.Truncate(size) })
}

// Mkdir is os.Mkdir.
func Mkdir(path string, perm fs.FileMode) error {
	return unless(OpMkdir, path, func() error { return os.Mkdir(path, perm) })
}

// Rename is os.Rename.
func Rename(from, to string) error {
	return unless(OpRename, to, func() error { return os.Rename(from, to) })
}
