package spawn

import (
	"context"
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

// awaitExit returns when the kernel says that the process has ended, when ctx is done,
// or at once when there is no kqueue to be told by.
func awaitExit(ctx context.Context, id Identity) {
	kq, err := unix.Kqueue()
	if err != nil {
		return
	}
	defer unix.Close(kq)
	unix.CloseOnExec(kq)
	watch := make([]unix.Kevent_t, 2)
	unix.SetKevent(&watch[0], id.PID, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
	watch[0].Fflags = unix.NOTE_EXIT
	unix.SetKevent(&watch[1], 0, unix.EVFILT_USER, unix.EV_ADD|unix.EV_CLEAR)
	if _, err := unix.Kevent(kq, watch, nil, nil); err != nil || id.Ended() {
		return
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		wake := watch[1:2:2]
		unix.SetKevent(&wake[0], 0, unix.EVFILT_USER, 0)
		wake[0].Fflags = unix.NOTE_TRIGGER
		_, _ = unix.Kevent(kq, wake, nil, nil)
	})
	defer func() {
		if !stop() {
			<-ended // before the queue is closed
		}
	}()
	news := make([]unix.Kevent_t, 1)
	for {
		_, err := unix.Kevent(kq, nil, news, nil)
		if err != unix.EINTR {
			return
		}
	}
}
