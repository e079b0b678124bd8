package spawn

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"golang.org/x/sys/unix"
)

// owner reads the real user of a process from proc_pid_status(5): the owner of its
// files in /proc is root's for a process that may not be dumped.
func owner(pid int) (uint32, error) {
	b, err := readProc("/proc/" + strconv.Itoa(pid) + "/status")
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return 0, ErrGone
	}
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(b) {
		if f := bytes.Fields(line); len(f) > 1 && string(f[0]) == "Uid:" {
			n, err := strconv.ParseUint(string(f[1]), 10, 32)
			return uint32(n), err
		}
	}
	return 0, fmt.Errorf("/proc/%d/status names no user", pid)
}
