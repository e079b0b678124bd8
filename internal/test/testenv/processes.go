package testenv

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// Process is a process that works in a directory of a test.
type Process struct {
	PID  int
	Argv []string
	dir  string // where it works
}

func (p Process) String() string { return fmt.Sprintf("%d %q", p.PID, p.Argv) }

// Processes lists the processes, other than this one, that have a directory, or a path below it, as an
// argument or as their working directory. It knows them on Linux only.
func Processes(dirs ...string) []Process {
	return slices.DeleteFunc(processes(), func(p Process) bool { return p.PID == os.Getpid() || !p.under(dirs) })
}

// EndAll kills what Processes lists, waits until the processes are gone, and logs what they were. A process
// that starts meanwhile is killed too. The test fails when one is left after a minute.
//
// A test calls it before it reads or removes a directory in which a process that it killed, or a process of
// that process, may still write.
func EndAll(t testing.TB, dirs ...string) {
	t.Helper()
	killed := map[int]bool{}
	Eventually(t, fmt.Sprintf("no process is left in %q", dirs), func() bool {
		for _, p := range Processes(dirs...) {
			if kill(p, dirs) && !killed[p.PID] {
				killed[p.PID] = true
				t.Logf("ended %s", p)
			}
		}
		for pid := range killed {
			if !gone(pid) {
				return false
			}
		}
		return len(Processes(dirs...)) == 0
	})
}

// under reports whether an argument or the working directory lies at or below one of the directories.
// An argument may name a path behind "=".
func (p Process) under(dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool {
		return dir != "" && slices.ContainsFunc(append([]string{p.dir}, p.Argv...), func(arg string) bool {
			if _, value, ok := strings.Cut(arg, "="); ok && strings.HasPrefix(arg, "-") {
				arg = value
			}
			return arg == dir || strings.HasPrefix(arg, dir+string(os.PathSeparator))
		})
	})
}

// Overdue fails a test that has not ended after so long, and kills what Processes lists, so that the test
// stops waiting for it and shows its output; the time limit of the whole test program would show neither.
func Overdue(t testing.TB, limit time.Duration, dirs ...string) {
	t.Helper()
	timer := time.AfterFunc(limit, func() {
		list := Processes(dirs...)
		t.Errorf("not over after %s; these processes are killed: %v", limit, list)
		for try := 0; try < 100 && len(list) > 0; try++ { // one may be starting another
			for _, p := range list {
				kill(p, dirs)
			}
			time.Sleep(20 * time.Millisecond)
			list = Processes(dirs...)
		}
	})
	t.Cleanup(func() { timer.Stop() })
}
