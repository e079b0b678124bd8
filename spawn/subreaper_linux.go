package spawn

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

func subreaper() error {
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// reapOrphans distinguishes orphans from the children of os/exec by their handles: Go holds a pidfd
// of each process that it started and that was not waited for yet; the kernel sets it before the
// child runs. The zombies are listed before the handles, so that one whose Wait is just finishing
// is either still held or already gone. The kernel reports at once whether there is any zombie; the
// table of processes is read only then, because reading it for every member of an idle team would
// cost the square of its size.
func reapOrphans() (int, error) {
	if ended, err := childEnded(); err != nil || !ended {
		return 0, err
	}
	if err := needHandles(); err != nil {
		return 0, err
	}
	zombies, err := zombieChildren()
	if err != nil || len(zombies) == 0 {
		return 0, err
	}
	held, err := heldPids()
	if err != nil {
		return 0, err
	}
	n := 0
	for _, z := range zombies {
		if held[z.pid] {
			continue
		}
		now, err := readStat(z.pid)
		if err != nil || now.start != z.start || !now.zombie {
			continue
		}
		pid, err := unix.Wait4(z.pid, nil, unix.WNOHANG, nil)
		switch {
		case pid == z.pid:
			n++
		case err != nil && !errors.Is(err, unix.ECHILD) && !errors.Is(err, unix.EINTR):
			return n, fmt.Errorf("wait for %d: %w", z.pid, err)
		}
	}
	return n, nil
}

// childEnded reports whether some child waits to be waited for, and leaves it waiting.
func childEnded() (bool, error) {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ECHILD):
			return false, nil
		case err != nil:
			return false, fmt.Errorf("ask for ended children: %w", err)
		}
		return info.Signo != 0, nil
	}
}

// needHandles fails where Go works without pidfds.
func needHandles() error {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	defer func() { _ = self.Release() }()
	if err := self.WithHandle(func(uintptr) {}); err != nil {
		return fmt.Errorf("pidfd (Linux 5.4): %w: %w", errors.ErrUnsupported, err)
	}
	return nil
}

func zombieChildren() ([]stat, error) {
	all, err := allStats()
	if err != nil {
		return nil, err
	}
	self := os.Getpid()
	return slices.DeleteFunc(all, func(s stat) bool { return !s.zombie || s.ppid != self }), nil
}

// heldPids returns the pids of the processes that this program has a pidfd of.
func heldPids() (map[int]bool, error) {
	const dir = "/proc/self/fdinfo"
	fds, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	held := map[int]bool{}
	for _, fd := range fds {
		b, err := os.ReadFile(dir + "/" + fd.Name())
		if errors.Is(err, fs.ErrNotExist) {
			continue // closed meanwhile
		}
		if err != nil {
			return nil, err
		}
		for lines := bufio.NewScanner(bytes.NewReader(b)); lines.Scan(); {
			if v, ok := strings.CutPrefix(lines.Text(), "Pid:"); ok {
				if pid, err := strconv.Atoi(strings.TrimSpace(v)); err == nil {
					held[pid] = true
				}
			}
		}
	}
	return held, nil
}

// markedBelow returns the descendants of this program that carry the mark of one
// command in the environment they were started with.
func markedBelow(mark string) ([]stat, error) {
	const execTime = 200 * time.Millisecond
	ctx, cancel := context.WithTimeout(context.Background(), execTime)
	defer cancel()
	var marked []stat
	_, err := until(ctx, func() (sure bool, err error) {
		marked, sure, err = lookForMark(mark)
		return sure, err
	})
	return marked, err
}

// lookForMark is not sure as long as a process is just between two programs, or
// ending.
func lookForMark(mark string) (marked []stat, sure bool, err error) {
	below, err := descendants(os.Getpid())
	if err != nil {
		return nil, false, err
	}
	sure = true
	for _, s := range below {
		env, known := environ(s.pid)
		sure = sure && known
		if hasMark(env, mark) {
			marked = append(marked, s)
		}
	}
	return marked, sure, nil
}

// environ returns the environment that a process was started with; none when it may not be read. It
// is not known while execve has closed the descriptors of the old program, which the starter takes
// for success, and has not laid out the new one, nor while a process is ending and not yet a
// zombie.
func environ(pid int) (env []string, known bool) {
	const envEnd = 51
	dir := "/proc/" + strconv.Itoa(pid)
	b, err := readProc(dir + "/environ")
	if len(b) > 0 {
		return strings.Split(string(b), "\x00"), true
	}
	if err != nil && !errors.Is(err, unix.ESRCH) {
		return nil, true // it has ended, or is another user's
	}
	b, err = readProc(dir + "/stat")
	if err != nil {
		return nil, true
	}
	f := statFields(b)
	return nil, len(f) > envEnd && f[envEnd] != "0"
}
