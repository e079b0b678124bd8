package spawn

import (
	"golang.org/x/sys/unix"
)

// owner reads the real user of a process.
func owner(pid int) (uint32, error) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return 0, ErrGone // what readStat makes of it, too
	}
	return k.Eproc.Pcred.P_ruid, nil
}
