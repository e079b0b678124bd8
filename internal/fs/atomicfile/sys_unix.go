//go:build linux || darwin

package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// recordOffset is the offset of the holder's record in the flock file.
const recordOffset = 0

// openFlags are added to every open: no symbolic link in the last component, and
// no waiting for the other end of a FIFO.
const openFlags = unix.O_NOFOLLOW | unix.O_NONBLOCK

// openRead opens a regular file for reading.
func openRead(path string) (*os.File, error) {
	f, err := OpenFile(path, os.O_RDONLY|openFlags, 0)
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.EMLINK) {
		return nil, fmt.Errorf("%s is a symbolic link, %w", path, ErrNotRegular)
	}
	return f, err
}

// unsupported reports an operation that the file system does not have.
func unsupported(err error) bool {
	return errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) ||
		errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOTSUP)
}

// noFlock reports whether err means that flock cannot be used: on this file system, or because
// another user owns the flock file. Then only the lock directory is used, as other programs do.
func noFlock(err error) bool {
	return unsupported(err) || errors.Is(err, unix.ENOLCK) || errors.Is(err, fs.ErrPermission)
}

// keepOwner gives f the owner of old: a file edited by root stays its user's.
func keepOwner(f *os.File, old fs.FileInfo) {
	st, ok := old.Sys().(*syscall.Stat_t)
	if ok && (int(st.Uid) != os.Geteuid() || int(st.Gid) != os.Getegid()) {
		// Only root may change the owner, and only root needs to: an ordinary user's copy of
		// another user's file belongs to that user.
		_ = f.Chown(int(st.Uid), int(st.Gid))
	}
}

func identityOf(fi fs.FileInfo) Identity {
	id := Identity{size: fi.Size(), mtime: fi.ModTime().UnixNano()}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		id.ino, id.ctime = st.Ino, changed(st)
	}
	return id
}

func syncDir(dir string) error {
	d, err := OpenFile(dir, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer d.Close()
	return Flush(d)
}

// patiently calls op: nothing is busy for a moment here.
func patiently(op func() error) error { return op() }

func exchange(a, b string) error {
	if err := Failing(OpRename, b); err != nil {
		return err
	}
	if err := renameAs(a, b, swapNames); err != nil {
		return &os.LinkError{Op: "exchange", Old: a, New: b, Err: err}
	}
	return nil
}

func renameNoReplace(from, to string) error {
	if err := Failing(OpRename, to); err != nil {
		return err
	}
	err := renameAs(from, to, notOver)
	switch {
	case err == nil:
		return nil
	case unsupported(err):
		return linkNoReplace(from, to)
	}
	return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
}

// monotonic is the time since boot without sleep. shared says that it is one clock for all processes.
func monotonic() (now time.Duration, shared bool) {
	var ts unix.Timespec
	err := unix.ClockGettime(clockOfAll, &ts)
	return time.Duration(ts.Nano()), err == nil
}

// lockDirectory excludes other processes that set something in dir aside, which takes an instant. Where directories cannot
// be locked it excludes nobody.
func lockDirectory(dir string) (unlock func(), err error) {
	f, err := OpenFile(dir, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, err
	}
	for try := 0; ; try++ {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return func() { f.Close() }, nil
		case !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR):
			f.Close()
			return func() {}, nil
		case try == mostLooks:
			f.Close()
			return nil, fmt.Errorf("another program has the directory locked")
		}
		time.Sleep(lookPause)
	}
}

// chmodFile changes the mode of a file and follows no link.
func chmodFile(path string, mode uint32) error {
	return unix.Fchmodat(unix.AT_FDCWD, path, mode, unix.AT_SYMLINK_NOFOLLOW)
}

// least is how many bytes must be free for a record and the file that it is in.
const least = 4 << 10

// Room returns an error when the file system below dir reports that it is full or read-only. It
// writes nothing, so it does not notice a quota.
func Room(dir string) error {
	no := func(err error) error { return &fs.PathError{Op: "write", Path: dir, Err: err} }
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return no(err)
	}
	switch {
	case st.Flags&readOnly != 0:
		return no(unix.EROFS)
	case st.Bavail == 0 || uint64(st.Bavail)*uint64(st.Bsize) < least, st.Files > 0 && st.Ffree == 0:
		return no(unix.ENOSPC)
	}
	return nil
}
