//go:build linux || darwin

package atomicfile

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

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
	case readOnly(&st):
		return no(unix.EROFS)
	case st.Bavail == 0 || uint64(st.Bavail)*uint64(st.Bsize) < least, st.Files > 0 && st.Ffree == 0:
		return no(unix.ENOSPC)
	}
	return nil
}
