package spawn

import (
	"errors"

	"golang.org/x/sys/unix"
)

func readBootID() string {
	s, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return s
}

func readStat(pid int) (stat, error) {
	if pid <= 0 {
		return stat{}, ErrGone
	}
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if errors.Is(err, unix.EIO) || errors.Is(err, unix.ESRCH) { // EIO: an empty answer
		return stat{}, ErrGone
	}
	if err != nil {
		return stat{}, err
	}
	if int(k.Proc.P_pid) != pid {
		return stat{}, ErrGone
	}
	return kinfoStat(k), nil
}

func kinfoStat(k *unix.KinfoProc) stat {
	const stopped, zombie = 4, 5 // SSTOP and SZOMB of sys/proc.h
	s := stat{
		pid:    int(k.Proc.P_pid),
		ppid:   int(k.Eproc.Ppid),
		pgid:   int(k.Eproc.Pgid),
		start:  uint64(k.Proc.P_starttime.Sec)*1e6 + uint64(k.Proc.P_starttime.Usec),
		zombie: k.Proc.P_stat == zombie, stopped: k.Proc.P_stat == stopped,
	}
	if sid, err := unix.Getsid(s.pid); err == nil {
		s.sid = sid
	}
	return s
}

// allStats reads the process table.
func allStats() ([]stat, error) {
	ks, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, err
	}
	all := make([]stat, 0, len(ks))
	for i := range ks {
		if ks[i].Proc.P_pid > 0 {
			all = append(all, kinfoStat(&ks[i]))
		}
	}
	return all, nil
}
