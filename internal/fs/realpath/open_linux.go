package realpath

import (
	"errors"

	"golang.org/x/sys/unix"
)

// walkFlags: O_PATH needs no permission to read the directory.
const walkFlags = unix.O_PATH

// openDir opens a directory and follows no link: by openat2, or component by
// component where the kernel is older than 5.6 or a filter refuses the call.
func openDir(dir string) (int, error) {
	fd, err := atOnce(dir)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		return walkDir(dir)
	}
	return fd, asLink(err)
}

// atOnce is openDirAtOnce, but for a test of older kernels.
var atOnce = openDirAtOnce

func openDirAtOnce(dir string) (int, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
	return retry(func() (int, error) { return unix.Openat2(unix.AT_FDCWD, dir, &how) })
}
