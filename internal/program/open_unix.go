//go:build unix

package program

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// open opens what a path without links names, and waits for nobody.
func open(p string) (*os.File, error) {
	return os.OpenFile(p, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
}

// file is what identifies a file on this machine.
type file struct{ dev, ino uint64 }

func identityOf(fi fs.FileInfo) identity {
	id := identity{size: fi.Size(), changed: fi.ModTime()}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		id.file = file{uint64(st.Dev), uint64(st.Ino)}
		id.changed = ctime(st)
	}
	return id
}
