//go:build unix

package program

import (
	"io/fs"
	"os"
	"reflect"
	"syscall"
	"time"

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

// ctime is when the file or its rights were changed last, which nobody can set back; the field has another name on
// every system.
func ctime(st *syscall.Stat_t) time.Time {
	for _, name := range []string{"Ctimespec", "Ctim"} {
		if f := reflect.ValueOf(st).Elem().FieldByName(name); f.IsValid() {
			if ts, ok := f.Interface().(syscall.Timespec); ok {
				return time.Unix(ts.Unix())
			}
		}
	}
	return time.Time{}
}
