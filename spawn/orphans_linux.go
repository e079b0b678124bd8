package spawn

import (
	"os"
	"strconv"
	"syscall"
	"time"
)

// ownUser reports a process of this user: the superuser can read everybody's, and
// the kernel's threads are its own.
func ownUser(s stat) bool {
	if s.kernel {
		return false
	}
	fi, err := os.Stat("/proc/" + strconv.Itoa(s.pid))
	if err != nil {
		return false
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// sameNamespace reports a process that counts pids as this one does.
func sameNamespace(pid int) bool {
	own, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return false
	}
	its, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/pid")
	return err == nil && its == own
}

// environAt reads the environment a process was started with, none when it may not
// be read or the process is gone. One that is just between two programs is waited
// for, but not long.
func environAt(s stat) ([]string, error) {
	const tries = 20
	for range tries {
		env, known := environ(s.pid)
		if known {
			return env, nil
		}
		if now, err := readStat(s.pid); err != nil || now.start != s.start || now.zombie {
			return nil, nil
		}
		time.Sleep(time.Millisecond)
	}
	return nil, nil
}
