package spawn

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

// readProc reads a file of /proc. A look at the process table reads one for each process,
// and os.ReadFile makes three times the system calls for it: it asks of each file whether
// the poller can wait for it, and how long it is.
func readProc(path string) ([]byte, error) {
	fd, err := openProc(path)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	b := make([]byte, 0, 1024) // a stat is shorter
	for {
		n, err := unix.Read(fd, b[len(b):cap(b)])
		switch {
		case err == unix.EINTR:
		case err != nil:
			return b, &fs.PathError{Op: "read", Path: path, Err: err}
		case n == 0:
			return b, nil
		default:
			if b = b[:len(b)+n]; len(b) == cap(b) {
				b = append(b, 0)[:len(b)]
			}
		}
	}
}

func openProc(path string) (fd int, err error) {
	for {
		if fd, err = unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0); err != unix.EINTR {
			return fd, err
		}
	}
}
