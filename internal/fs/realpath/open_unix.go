//go:build unix

package realpath

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// WriteFile writes data to the file at real, an absolute path as Real returns it, and makes the
// file when there is none. It opens the directories from the root on and the file in the last of
// them, and follows no link in any component: when a component is a link by now, it fails with
// ErrLink and has written nothing. It makes no directories. It refuses a file that is not regular
// or has several names (ErrKind).
func WriteFile(real string, data []byte, perm fs.FileMode) error {
	f, err := open(real, unix.O_WRONLY|unix.O_CREAT, perm, mayWriteStat)
	if err != nil {
		return &fs.PathError{Op: "open", Path: real, Err: causeOf(err)}
	}
	return writeAll(f, data)
}

// ReadFile reads the file at real, an absolute path as Real returns it, of at most limit bytes. It follows
// no link in any component, waits for nobody, and reads only a file that is regular.
func ReadFile(real string, limit int64) ([]byte, error) {
	f, err := open(real, unix.O_RDONLY, 0, mayReadStat)
	var data []byte
	if err == nil {
		data, err = readAll(f, limit)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: real, Err: causeOf(err)}
	}
	return data, nil
}

// open opens the file at real without a link in any component, if it may be opened, before and after.
func open(real string, flags int, perm fs.FileMode, may func(*unix.Stat_t) error) (*os.File, error) {
	if !strings.HasPrefix(real, "/") {
		return nil, errRelative
	}
	dir, name := path.Split(path.Clean(real))
	if name == "" {
		return nil, unix.EISDIR
	}
	parent, err := openDir(dir)
	if err != nil {
		return nil, err
	}
	defer unix.Close(parent)
	var st unix.Stat_t // opening a device or a FIFO has effects of its own
	err = unix.Fstatat(parent, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if err == nil && uint32(st.Mode)&unix.S_IFMT == unix.S_IFLNK {
		return nil, ErrLink
	}
	if err == nil {
		err = may(&st)
	}
	if err != nil && (flags&unix.O_CREAT == 0 || !errors.Is(err, unix.ENOENT)) {
		return nil, err
	}
	fd, err := retry(func() (int, error) {
		return unix.Openat(parent, name, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, uint32(perm.Perm()))
	})
	if err != nil {
		return nil, asLink(err)
	}
	if err = unix.Fstat(fd, &st); err == nil {
		err = may(&st)
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), real), nil
}

// mayReadStat refuses what is no regular file.
func mayReadStat(st *unix.Stat_t) error {
	if uint32(st.Mode)&unix.S_IFMT != unix.S_IFREG {
		return errNotFile
	}
	return nil
}

// modes are the types of files that are none to be written, of stat.
var modes = map[uint32]fs.FileMode{unix.S_IFIFO: fs.ModeNamedPipe, unix.S_IFSOCK: fs.ModeSocket, unix.S_IFBLK: fs.ModeDevice, unix.S_IFCHR: fs.ModeDevice}

// mayWriteStat is mayWrite of what stat reports.
func mayWriteStat(st *unix.Stat_t) error {
	switch kind := uint32(st.Mode) & unix.S_IFMT; kind {
	case unix.S_IFREG:
		return mayWrite(0, uint64(st.Nlink))
	case unix.S_IFDIR:
		return unix.EISDIR
	default:
		return mayWrite(cmp.Or(modes[kind], fs.ModeIrregular), uint64(st.Nlink))
	}
}

// walkDir opens a directory component by component and follows no link.
func walkDir(dir string) (int, error) {
	const flags = walkFlags | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	at, err := retry(func() (int, error) { return unix.Open("/", flags, 0) })
	if err != nil {
		return -1, err
	}
	for _, name := range strings.Split(dir, "/") {
		if name == "" || name == "." {
			continue
		}
		next, err := retry(func() (int, error) { return unix.Openat(at, name, flags, 0) })
		if err != nil {
			err = linkInWalk(at, name, err)
		}
		_ = unix.Close(at)
		if err != nil {
			return -1, err
		}
		at = next
	}
	return at, nil
}

// linkInWalk names a link by ErrLink: O_DIRECTORY with O_NOFOLLOW makes ENOTDIR of it.
func linkInWalk(at int, name string, err error) error {
	var st unix.Stat_t
	if serr := unix.Fstatat(at, name, &st, unix.AT_SYMLINK_NOFOLLOW); serr == nil && uint32(st.Mode)&unix.S_IFMT == unix.S_IFLNK {
		return ErrLink
	}
	return asLink(err)
}

// asLink makes ErrLink of what a kernel says of a link that must not be followed.
func asLink(err error) error {
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.EMLINK) {
		return ErrLink
	}
	return err
}

func retry(open func() (int, error)) (int, error) {
	for {
		fd, err := open()
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}
