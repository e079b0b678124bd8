package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"waggle/internal/cgroup"
	"waggle/internal/sandbox/relay"
)

// Groups are the directories of control groups in which a call can have a group of its own, one for
// each controller. The zero value is none: then only rlimits apply, and they do not count root's
// processes.
type Groups struct {
	Memory    string // has memory.max, or memory.limit_in_bytes in version 1
	Processes string // has pids.max
	CPU       string // has cpu.max, version 2 only
}

// FindGroups finds the directories in which this process may make control groups: of version 2
// beside or below its own where that is delegated, else of version 1 below its own. proc is /proc.
// FindGroups tests each directory by making a group, and removes empty groups of calls whose
// program was killed.
func FindGroups(proc string, now time.Time) Groups {
	g := findGroups(proc)
	for _, dir := range []string{g.Memory, g.Processes, g.CPU} {
		sweep(dir, now)
	}
	return g
}

// sweepAge is the age from which no call enters an empty group any more.
const sweepAge = time.Minute

// sweep removes empty groups of calls. The kernel refuses to remove a group with a process.
func sweep(dir string, now time.Time) {
	if dir == "" {
		return
	}
	old, _ := filepath.Glob(filepath.Join(dir, callGroup+"*")) // the pattern is well-formed
	for _, path := range old {
		if info, err := os.Stat(path); err == nil && now.Sub(info.ModTime()) > sweepAge {
			_ = os.Remove(path) // in use, or another program removed it
		}
	}
}

// callGroup is how the name of a call's group begins.
const callGroup = "waggle-call-"

func findGroups(proc string) Groups {
	at, err := cgroup.Own(proc)
	if err != nil {
		return Groups{} // not Linux, or /proc is hidden
	}
	if g := delegated(at[""]); g != (Groups{}) {
		return g
	}
	return Groups{Memory: tried(at["memory"], "memory.limit_in_bytes"), Processes: tried(at["pids"], "pids.max")}
}

// delegated finds a directory of version 2 whose groups have controllers and in which this process
// may make one: its own group, or the one above it. It enables no controller: the manager that
// delegates a group decides about its controllers.
func delegated(own string) Groups {
	if own == "" {
		return Groups{}
	}
	for _, dir := range []string{own, filepath.Dir(own)} {
		data, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
		if err != nil {
			continue // no control group, or hidden
		}
		on := map[string]string{}
		for _, c := range strings.Fields(string(data)) {
			on[c] = tried(dir, c+".max")
		}
		if g := (Groups{Memory: on["memory"], Processes: on["pids"], CPU: on["cpu"]}); g != (Groups{}) {
			return g
		}
	}
	return Groups{}
}

// tried returns dir if a new group in it has this file, else "".
func tried(dir, file string) string {
	if dir == "" {
		return ""
	}
	path, err := os.MkdirTemp(dir, "waggle-try-")
	if err != nil {
		return ""
	}
	defer os.Remove(path)
	f, err := os.OpenFile(filepath.Join(path, file), os.O_WRONLY, 0)
	if err != nil {
		return ""
	}
	f.Close()
	return dir
}

// group has the control groups of one call: a directory for each hierarchy.
type group []string

// make makes a group with these limits. The group is empty when none of the limits needs one.
func (g Groups) make(l relay.Limits) (group, error) {
	var made group
	dirs := map[string]string{} // by parent
	set := func(parent, file, value string) error {
		if parent == "" || value == "" {
			return nil
		}
		if dirs[parent] == "" {
			path, err := os.MkdirTemp(parent, callGroup)
			if err != nil {
				return err
			}
			dirs[parent] = path
			made = append(made, path)
		}
		return writeInto(filepath.Join(dirs[parent], file), value)
	}
	memory := "memory.max"
	if _, err := os.Stat(filepath.Join(g.Memory, "memory.limit_in_bytes")); err == nil && g.Memory != "" {
		memory = "memory.limit_in_bytes"
	}
	err := errors.Join(
		set(g.Memory, memory, positive(l.GroupMemory)),
		set(g.Processes, "pids.max", positive(l.Processes)),
		set(g.CPU, "cpu.max", cpuMax(l.GroupCPU)))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("sandbox: a control group: %w", err), made.remove())
	}
	return made, nil
}

// writeInto writes into an existing file.
func writeInto(path, value string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

func positive(n uint64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatUint(n, 10)
}

// cpuPeriod is the period of the processor quota, in microseconds.
const cpuPeriod = 100_000

// cpuMax is a share of processors, in hundredths of one.
func cpuMax(hundredths uint64) string {
	if hundredths == 0 {
		return ""
	}
	return fmt.Sprintf("%d %d", hundredths*cpuPeriod/100, cpuPeriod)
}

// enter puts a process, and the processes that it starts later, into the group.
func (g group) enter(pid int) error {
	for _, dir := range g {
		if err := writeInto(filepath.Join(dir, "cgroup.procs"), strconv.Itoa(pid)); err != nil {
			return fmt.Errorf("sandbox: enter a control group: %w", err)
		}
	}
	return nil
}

// The kernel reports a group as busy for a moment after its last process was reaped.
const (
	removeTries = 100
	removePause = 10 * time.Millisecond
)

// remove removes a group whose processes have ended.
func (g group) remove() error {
	var errs []error
	for _, dir := range g {
		err := os.Remove(dir)
		for try := 1; err != nil && !errors.Is(err, fs.ErrNotExist) && try < removeTries; try++ {
			time.Sleep(removePause)
			err = os.Remove(dir)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// holdsProcesses reports whether the number of processes can be limited for a user:
// rlimits do not bind root.
func (g Groups) holdsProcesses(uid int) bool { return uid != 0 || g.Processes != "" }

// LimitGaps lists the limits that this machine cannot enforce, as text.
func (s Sandbox) LimitGaps(uid int) []string {
	var gaps []string
	l := s.Profile.Limits
	if l.Processes > 0 && !s.Groups.holdsProcesses(uid) {
		gaps = append(gaps, "the number of processes: rlimits do not bind root, and no control group is delegated")
	}
	if l.GroupMemory > 0 && s.Groups.Memory == "" {
		gaps = append(gaps, "memory of all processes together: no control group is delegated")
	}
	if l.GroupCPU > 0 && s.Groups.CPU == "" {
		gaps = append(gaps, "a share of the processors: no control group of version 2 is delegated")
	}
	return gaps
}

// limitPoint is the point of the self-test for limits: every limit can be enforced.
func (s Sandbox) limitPoint() relay.Point {
	gaps := s.LimitGaps(os.Geteuid())
	if len(gaps) > 0 {
		return relay.Point{Name: "every limit holds", Detail: "not held: " + strings.Join(gaps, "; ")}
	}
	return relay.Point{Name: "every limit holds", OK: true, Detail: "by control groups and rlimits"}
}
