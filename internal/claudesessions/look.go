package claudesessions

import (
	"errors"
	"os"

	"waggle/spawn"
)

// gone reports that no process has this pid: what is wrong with its file is then
// nobody's problem.
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
