//go:build linux || darwin

package atomicfile

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

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
