//go:build unix

package spawn

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownGroup makes the child the leader of a new process group before it runs.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// ownTerminal makes the child the leader of a new session, whose terminal its standard input is.
func ownTerminal() (*syscall.SysProcAttr, error) {
	return &syscall.SysProcAttr{Setsid: true, Setctty: true}, nil
}

// OpenLog opens the log for appending. It refuses a link to another file or directory and a FIFO
// that blocks, which an agent may have put there, without touching them.
func OpenLog(path string) (*os.File, error) {
	dir, err := os.OpenFile(filepath.Dir(path), os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
		return nil, fmt.Errorf("%s is not a directory of its own", filepath.Dir(path))
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	const flags = unix.O_WRONLY | unix.O_APPEND | unix.O_CREAT | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC
	fd, err := unix.Openat(int(dir.Fd()), filepath.Base(path), flags, 0o600)
	switch {
	case errors.Is(err, unix.ELOOP):
		return nil, fmt.Errorf("%s is a symbolic link", path)
	case err != nil:
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	if err := checkLog(f); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func checkLog(f *os.File) error {
	fd := int(f.Fd())
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return &os.PathError{Op: "fstat", Path: f.Name(), Err: err}
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return fmt.Errorf("%s is not a regular file", f.Name())
	case st.Nlink > 1:
		return fmt.Errorf("%s is a link to a file with other names", f.Name())
	}
	if st.Mode&0o7777 != 0o600 {
		if err := f.Chmod(0o600); err != nil {
			return err
		}
	}
	return unix.SetNonblock(fd, false) // the flag was for opening only
}
