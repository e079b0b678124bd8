// Package logfile is a log that is rotated in place, and files that are opened for
// certain: what is opened is a plain file of its own in a directory that others may
// write.
//
//	log, err := logfile.Open(path, logfile.Options{})
package logfile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
)

// Defaults of Options.
const (
	defaultSize = 8 << 20
	defaultKeep = 3
)

// Options are the settings of a Log. The zero value works.
type Options struct {
	Size int64 // a part begins when the log would grow over it; 0 means 8 MiB
	Keep int   // parts kept beside the log; 0 means 3
	// Report is told what went wrong: the log is for people, and a full disk must
	// not end the work that is logged. May be nil.
	Report func(error)
	// Hook is called between the steps of a rotation, for tests that kill the
	// process there. Nil in production.
	Hook func(step string)
}

// Log is a log: what is written is appended, and the file is rotated when it has
// grown; older parts have .1, .2, … behind its name, the newest first. Its methods
// may be used from several goroutines; one process at a time writes it. Programs
// that hold the file open for appending, as a process's own stderr does, go on in
// the new part: the file is copied and cut, never replaced.
//
// A write that returned is in the log or in a part until Keep newer parts are
// there. A process that is killed while it rotates may leave a part twice.
type Log struct {
	o    Options
	name string
	root *os.Root
	mu   sync.Mutex
	f    *os.File
	size int64
	late int64 // a rotation failed: not before the log has this size
}

// Open opens, or makes, a log that only its owner can read (0600). What is not a plain file of its own in a
// directory of its own, such as a link, is refused: whoever can write the directory
// must not choose what is written to.
func Open(path string, o Options) (*Log, error) {
	o.Size, o.Keep = cmp.Or(o.Size, defaultSize), cmp.Or(o.Keep, defaultKeep)
	root, err := OpenDir(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	l := &Log{o: o, root: root, name: filepath.Base(path)}
	if l.f, err = OpenPlain(root, l.name, os.O_RDWR|os.O_APPEND|os.O_CREATE); err == nil {
		l.size, err = l.private()
	}
	if err != nil {
		return nil, fmt.Errorf("log: %w", errors.Join(err, l.Close()))
	}
	return l, nil
}

// private keeps others from reading the log, and returns its size.
func (l *Log) private() (int64, error) {
	info, err := l.f.Stat()
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		err = l.f.Chmod(0o600)
	}
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// OpenDir opens a directory that is one itself.
func OpenDir(dir string) (*os.Root, error) {
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a directory", dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	// A link may have come between the two.
	if opened, err := root.Stat("."); err != nil || !os.SameFile(info, opened) {
		return nil, errors.Join(fmt.Errorf("%s was replaced while it was opened", dir), err, root.Close())
	}
	return root, nil
}

// MakeDir opens a directory in another one, and makes both. A link at either of them is refused.
func MakeDir(dir, name string, perm fs.FileMode) (*os.Root, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	root, err := OpenDir(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if err := root.Mkdir(name, perm); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if info, err := root.Lstat(name); err != nil || !info.IsDir() {
		return nil, errors.Join(fmt.Errorf("%s is not a directory of its own: remove it", filepath.Join(dir, name)), err)
	}
	return root.OpenRoot(name)
}

// OpenFile is OpenPlain for a file of a directory that is one itself.
func OpenFile(dir, name string, flags int) (*os.File, error) {
	root, err := OpenDir(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return OpenPlain(root, name, flags)
}

// OpenPlain opens a regular file that no link leads to, and for writing only one
// that has no second name.
func OpenPlain(root *os.Root, name string, flags int) (*os.File, error) {
	before, err := root.Lstat(name)
	switch {
	case err == nil && !before.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", name)
	case err != nil && (!errors.Is(err, fs.ErrNotExist) || flags&os.O_CREATE == 0):
		return nil, err
	case err != nil:
		flags |= os.O_EXCL // nobody puts a link there in between
	}
	f, err := root.OpenFile(name, flags|syscall.O_NONBLOCK, 0o600) // a pipe that came there in between would wait
	if err != nil {
		return nil, err
	}
	now, err := f.Stat()
	if err == nil && (!now.Mode().IsRegular() || before != nil && !os.SameFile(before, now) || flags&(os.O_WRONLY|os.O_RDWR) != 0 && !Alone(now)) {
		err = fmt.Errorf("%s is not a plain file of its own", name)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Write appends p. It never fails: what cannot be written is reported.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		l.report(fs.ErrClosed)
		return len(p), nil
	}
	if limit := max(l.o.Size, l.late); l.size > 0 && l.size+int64(len(p)) > limit {
		l.rotate()
	}
	n, err := l.f.Write(p)
	l.size += int64(n)
	l.report(err)
	return len(p), nil
}

func (l *Log) report(err error) {
	if err != nil && l.o.Report != nil {
		l.o.Report(fmt.Errorf("%s: %w", l.name, err))
	}
}

func (l *Log) hook(step string) {
	if l.o.Hook != nil {
		l.o.Hook(step)
	}
}

// rotate begins a new part. When it cannot, the log goes on growing for as much
// again. The caller holds mu.
func (l *Log) rotate() {
	err := l.shift()
	if err == nil {
		err = l.copy()
	}
	if err == nil {
		err = l.cut()
	}
	l.hook("cut")
	if err != nil {
		l.late = l.size + l.o.Size
		l.report(fmt.Errorf("rotate: %w", err))
		return
	}
	l.size, l.late = 0, 0
}

// cut empties the log. A file that is open for appending cannot be cut on every
// system.
func (l *Log) cut() error {
	f, err := OpenPlain(l.root, l.name, os.O_WRONLY)
	if err != nil {
		return err
	}
	if !l.same(f) {
		return errors.Join(fmt.Errorf("%s was replaced", l.name), f.Close())
	}
	return errors.Join(f.Truncate(0), f.Close())
}

func (l *Log) part(n int) string { return l.name + "." + strconv.Itoa(n) }

// shift makes room for part 1; the oldest goes.
func (l *Log) shift() error {
	for n := l.o.Keep; n > 1; n-- {
		if err := l.root.Rename(l.part(n-1), l.part(n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		l.hook("shifted")
	}
	return nil
}

// Copying is behind the name of a part while it is copied.
const Copying = ".rotating"

// copy copies the log to part 1.
func (l *Log) copy() error {
	rotating := l.name + Copying
	if err := l.root.Remove(rotating); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a process that was killed
		return err
	}
	f, err := OpenPlain(l.root, rotating, os.O_WRONLY|os.O_CREATE)
	if err != nil {
		return err
	}
	l.hook("part-created")
	for at := int64(0); err == nil; {
		var n int64
		n, err = io.Copy(f, io.NewSectionReader(l.f, at, 1<<62-at)) // to the end, which may move
		at += n
		if n == 0 {
			break
		}
	}
	l.hook("part-written")
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := l.root.Rename(rotating, l.part(1)); err != nil {
		return err
	}
	l.hook("part-named")
	return nil
}

// Is reports whether f is the log's file.
func (l *Log) Is(f *os.File) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.f != nil && l.same(f)
}

func (l *Log) same(f *os.File) bool {
	ours, err := l.f.Stat()
	if err != nil {
		return false
	}
	theirs, err := f.Stat()
	return err == nil && os.SameFile(ours, theirs)
}

// Close closes the file. What is written later is reported and lost.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var err error
	if l.f != nil {
		err = l.f.Close()
		l.f = nil
	}
	return errors.Join(err, l.root.Close())
}
