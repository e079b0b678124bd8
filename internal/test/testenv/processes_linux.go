package testenv

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// processes lists those of the machine that can be looked at.
func processes() (list []Process) {
	dirs, _ := filepath.Glob("/proc/[0-9]*") // the pattern is well-formed
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		if p, ok := look(pid); ok {
			list = append(list, p)
		}
	}
	return list
}

// look reads what a process was started with; false for one that has ended, or that is another user's.
func look(pid int) (Process, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || len(text) == 0 {
		return Process{}, false
	}
	dir, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)) // "" for a process that may not be looked into
	return Process{PID: pid, Argv: strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00"), dir: dir}, true
}

// kill sends SIGKILL, and reports whether it did: the handle is of one process, which is looked at again
// once it is held, so that the number of a process that has ended is never killed for another.
func kill(p Process, dirs []string) bool {
	handle, err := os.FindProcess(p.PID)
	if err != nil {
		return false
	}
	defer func() { _ = handle.Release() }() // it only forgets
	now, ok := look(p.PID)
	return ok && slices.Equal(now.Argv, p.Argv) && now.under(dirs) && handle.Kill() == nil
}

// gone reports whether a process has ended with all its threads: until then its files are open and its
// locks are held.
func gone(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	_, state, _ := strings.Cut(string(stat), ") ")
	return err != nil || strings.HasPrefix(state, "Z") && len(threads) == 1
}
