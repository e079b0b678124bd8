package spawn

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Argv is what a process runs, as it says itself; none when that cannot be read.
func Argv(pid int) []string {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil || len(b) == 0 {
		return nil
	}
	return strings.Split(string(bytes.TrimRight(b, "\x00")), "\x00")
}

// serviceManager reports the service manager of this user: systemd gives it a control group of its
// own without other processes.
func serviceManager(s stat) bool {
	if s.ppid != 1 || !ownUser(s) {
		return false
	}
	b, err := os.ReadFile("/proc/" + strconv.Itoa(s.pid) + "/cgroup")
	return err == nil && managesUser(b, os.Getuid())
}

// managesUser reads proc_pid_cgroup(5).
func managesUser(cgroups []byte, uid int) bool {
	for line := range bytes.Lines(cgroups) {
		if bytes.HasSuffix(bytes.TrimSpace(line), fmt.Appendf(nil, "/user@%d.service/init.scope", uid)) {
			return true
		}
	}
	return false
}

// adopter is the process to which the kernel gives this program's orphans, the nearest subreaper
// above it, or 1. The kernel does not tell whether another process is a subreaper, so an orphan is
// made: a shell starts another, which reads a pipe until it is closed, and ends.
var adopter = sync.OnceValue(func() int {
	hold, let, err := os.Pipe()
	if err != nil {
		return 1
	}
	defer let.Close()
	cmd := exec.Command("/bin/sh", "-c", "exec 3<&0; (read x <&3) >/dev/null 2>&1 & echo $!")
	cmd.Env, cmd.Stdin = []string{}, hold
	out, err := cmd.Output()
	hold.Close()
	if err != nil {
		return 1
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		return 1
	}
	parent, err := Parent(pid)
	if err != nil {
		return 1
	}
	return parent
})

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

// environAt reads the environment that a process was started with, none when it may not be read or
// the process is gone. For a process that is just between two programs it waits shortly.
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
