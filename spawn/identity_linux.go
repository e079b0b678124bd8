package spawn

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

func readBootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func readStat(pid int) (stat, error) {
	if pid <= 0 {
		return stat{}, ErrGone
	}
	b, err := readProc("/proc/" + strconv.Itoa(pid) + "/stat")
	switch {
	case errors.Is(err, unix.ESRCH):
		return stat{}, ErrGone
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Stat("/proc/self"); err != nil {
			return stat{}, fmt.Errorf("the process table cannot be read: %w", err)
		}
		return stat{}, ErrGone
	case err != nil:
		return stat{}, err
	}
	return parseStat(pid, b)
}

// clockTick is the unit of times in /proc: USER_HZ is 100 on every machine that Go
// runs on.
const clockTick = 10 * time.Millisecond

// kernelThread is PF_KTHREAD of linux/sched.h.
const kernelThread = 0x00200000

// parseStat reads the fields of proc_pid_stat(5) that are needed here.
func parseStat(pid int, b []byte) (stat, error) {
	const state, ppid, pgrp, session, flags, utime, cstime, threads, start, rss = 3, 4, 5, 6, 9, 14, 17, 20, 22, 24
	f := statFields(b)
	if len(f) <= rss {
		return stat{}, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(f)-1)
	}
	s := stat{pid: pid}
	for _, v := range []struct {
		field int
		to    *int
	}{{ppid, &s.ppid}, {pgrp, &s.pgid}, {session, &s.sid}, {threads, &s.threads}} {
		n, err := strconv.Atoi(f[v.field])
		if err != nil {
			return stat{}, fmt.Errorf("/proc/%d/stat field %d: %w", pid, v.field, err)
		}
		*v.to = n
	}
	n, err := strconv.ParseUint(f[start], 10, 64)
	if err != nil {
		return stat{}, fmt.Errorf("/proc/%d/stat field %d: %w", pid, start, err)
	}
	s.start = n
	// A first thread that ended while others go on is shown as Z too.
	s.zombie = f[state] == "X" || f[state] == "Z" && s.threads <= 1
	s.stopped = f[state] == "T" || f[state] == "t"
	// These values are for people: a field that is not a number counts as 0.
	for i := utime; i <= cstime; i++ {
		n, _ := strconv.ParseInt(f[i], 10, 64)
		s.cpu += time.Duration(n) * clockTick
	}
	bits, _ := strconv.ParseUint(f[flags], 10, 64)
	s.kernel = bits&kernelThread != 0
	pages, _ := strconv.ParseUint(f[rss], 10, 64)
	s.rss = pages * uint64(os.Getpagesize())
	return s, nil
}

// statFields splits a line of proc_pid_stat(5), so that f[3] is field 3. The
// second one, the name in parentheses, may hold anything, parentheses and
// newlines too; counting starts behind the last one.
func statFields(b []byte) []string {
	rest := b[bytes.LastIndexByte(b, ')')+1:]
	return append(make([]string, 3, 64), strings.Fields(string(rest))...)
}

// allStats reads the process table, as far as this user may see it. The reading is not atomic, but
// finds every process: processes that were forked before their parent was read are listed again at
// the end, and those that lost their parent meanwhile are read again.
func allStats() ([]stat, error) {
	const passes = 10 // against a machine that forks faster than this reads
	all := map[int]stat{}
	again := map[int]bool{} // those to read twice, and those who were
	for range passes {
		fresh, err := readNew(all)
		if err != nil {
			return nil, err
		}
		for pid, s := range all {
			if _, known := all[s.ppid]; known || s.ppid == 0 || again[pid] {
				continue
			}
			again[pid], fresh = true, true
			if s, err := readStat(pid); err == nil {
				all[pid] = s
			} else {
				delete(all, pid)
			}
		}
		if !fresh {
			break
		}
	}
	return slices.SortedFunc(maps.Values(all), func(a, b stat) int { return cmp.Compare(a.pid, b.pid) }), nil
}

// readNew adds the processes that are not in the table yet, and reports whether there were any.
func readNew(all map[int]stat) (fresh bool, err error) {
	pids, err := listPids()
	if err != nil {
		return false, err
	}
	for _, pid := range pids {
		if _, known := all[pid]; known {
			continue
		}
		s, err := readStat(pid)
		if errors.Is(err, ErrGone) || errors.Is(err, fs.ErrPermission) {
			continue
		}
		if err != nil {
			return false, err
		}
		all[pid], fresh = s, true
	}
	return fresh, nil
}

func listPids() ([]int, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

func usageStats() ([]stat, error) { return allStats() }

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

// readProc reads a file of /proc. A look at the process table reads one for each process,
// and os.ReadFile makes three times the system calls for it: it asks of each file whether
// the poller can wait for it, and how long it is.
func readProc(path string) ([]byte, error) {
	fd, err := openProc(path)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	b := make([]byte, 0, 1024) // a stat is shorter
	for {
		n, err := unix.Read(fd, b[len(b):cap(b)])
		switch {
		case err == unix.EINTR:
		case err != nil:
			return b, &fs.PathError{Op: "read", Path: path, Err: err}
		case n == 0:
			return b, nil
		default:
			if b = b[:len(b)+n]; len(b) == cap(b) {
				b = append(b, 0)[:len(b)]
			}
		}
	}
}

func openProc(path string) (fd int, err error) {
	for {
		if fd, err = unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0); err != unix.EINTR {
			return fd, err
		}
	}
}

// awaitExit returns when the kernel says that the process has ended, when ctx is done,
// or at once when there is no pidfd to be told by (Linux 5.3).
func awaitExit(ctx context.Context, id Identity) {
	fd, err := unix.PidfdOpen(id.PID, 0)
	if err != nil {
		return
	}
	if err := unix.SetNonblock(fd, true); err != nil { // so that no thread waits in it
		unix.Close(fd)
		return
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	defer f.Close()
	if id.Ended() { // ended before the pidfd was opened, which is then another process's
		return
	}
	stop := context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	c, err := f.SyscallConn()
	if err != nil {
		return
	}
	_ = c.Read(func(fd uintptr) bool { // its error is the deadline, or a file that cannot be waited for
		ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(ready, 0)
		return err != nil && err != unix.EINTR || n > 0
	})
}
