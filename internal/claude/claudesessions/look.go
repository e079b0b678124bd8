package claudesessions

import (
	"errors"
	"os"

	"waggle/spawn"
)

// gone reports whether no process has this pid: then an error in its file is not reported.
func gone(pid int) bool {
	_, err := spawn.Identify(pid)
	return errors.Is(err, spawn.ErrGone)
}

// modified is the time of a regular file in nanoseconds, 0 for anything else.
func modified(path string) int64 {
	fi, err := os.Lstat(path)
	if err != nil || !fi.Mode().IsRegular() {
		return 0
	}
	return fi.ModTime().UnixNano()
}
