package spawn

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
)

// MemberVar is the environment variable that names the member to which a process belongs. The
// starter of a member's process sets it (MemberMark); all descendants inherit it.
const MemberVar = "WAGGLE_MEMBER"

// MemberMark is the entry of an environment that says whose process it is.
func MemberMark(owner string) string { return MemberVar + "=" + owner }

// Mark names one run of a Command with Reap: the program that ran it, and which of
// its runs it was.
type Mark struct {
	PID   int
	Start string
	Run   uint64
}

// alive reports whether the program that ran the command still runs.
func (m Mark) alive() (bool, error) {
	return Identity{PID: m.PID, Start: m.Start, Boot: bootID()}.Check()
}

func (m Mark) String() string { return fmt.Sprintf("%d.%s.%d", m.PID, m.Start, m.Run) }

// Marked is a process that was started with marks in its environment. A process may have changed or
// removed them, and an environment is copied easily, into a terminal multiplexer for example: marks
// find lost processes and prove nothing. Ours reports which may be ended.
type Marked struct {
	ID     Identity
	Parent int
	Argv   []string // what it runs; none when that cannot be read
	// Owner is the value of MemberVar; "" without one.
	Owner string
	// Commands are the runs that it runs below, the outermost first.
	Commands []Mark
	// Foreign is the process without the mark above it: its parent, or that of the topmost of its
	// parents with the same mark. It is the zero Identity when that has ended, as for a process
	// that a member left running: then its parent is this program, or one that gets orphans,
	// process 1, the user's service manager or a subreaper above this program.
	Foreign Identity

	above []Identity // its ancestors, the nearest first
}

// Ours reports whether a marked process may be ended for its mark: no process without the mark has
// started it, or it is below one of the recorded ones.
func (m Marked) Ours(recorded ...Identity) bool {
	return m.Foreign == Identity{} || slices.ContainsFunc(m.above, func(up Identity) bool {
		return slices.ContainsFunc(recorded, up.Is)
	})
}

// Orphan reports whether a command left this process running: the program that ran the innermost of
// its commands is dead. by is that run.
func (m Marked) Orphan() (by Mark, orphan bool) {
	if len(m.Commands) == 0 {
		return Mark{}, false
	}
	by = m.Commands[len(m.Commands)-1]
	alive, err := by.alive()
	return by, !alive && err == nil
}

// AllMarked lists the running processes of this user with a mark, except for this one and its ancestors, by pid.
// Those of another PID namespace, such as a container's, are left out: the pids in their marks mean other processes
// here. The list is of one moment: a process that a listed one starts meanwhile may be missing. Linux reads /proc,
// macOS KERN_PROCARGS2, which hides programs of the system itself; elsewhere the error matches
// errors.ErrUnsupported.
func AllMarked() ([]Marked, error) {
	found, err := allMarked()
	return found, failed(err, "marked processes")
}

// Orphans lists those of AllMarked that a command left behind.
func Orphans() ([]Marked, error) {
	all, err := AllMarked()
	return slices.DeleteFunc(all, func(m Marked) bool {
		_, orphan := m.Orphan()
		return !orphan
	}), err
}

// nobodySeen is the error of a walk to the ancestors that saw none. A walk that saw some, or met a
// parent that ended, has shown all that can be seen.
func nobodySeen(up []stat, err error) error {
	if len(up) > 0 || errors.Is(err, ErrGone) {
		return nil
	}
	return err
}

func allMarked() ([]Marked, error) {
	all, err := allStats()
	if err != nil {
		return nil, err
	}
	keep, err := ancestors(os.Getpid())
	if err := nobodySeen(keep, err); err != nil {
		return nil, err
	}
	var found []Marked
	for _, s := range all {
		own := s.pid == os.Getpid() || slices.ContainsFunc(keep, func(up stat) bool { return up.pid == s.pid })
		if own || s.zombie || !ownUser(s) {
			continue
		}
		env, err := environAt(s)
		if err != nil {
			return nil, err
		}
		if m, ok := marksOf(env); ok && sameNamespace(s.pid) {
			m.ID, m.Parent = s.identity(), s.ppid
			found = append(found, m)
		}
	}
	t := lineage{all: map[int]stat{}, marks: map[int]Marked{}, keep: keep}
	for _, s := range all {
		t.all[s.pid] = s
	}
	for _, m := range found {
		t.marks[m.ID.PID] = m
	}
	for i := range found {
		found[i].Argv = Argv(found[i].ID.PID)
		t.trace(&found[i])
	}
	return found, nil
}

// lineage is who runs below whom, in one picture of the process table.
type lineage struct {
	all   map[int]stat
	marks map[int]Marked
	keep  []stat // ancestors of this program
}

// trace fills in the process above a marked one.
func (t lineage) trace(m *Marked) {
	known := false // the processes above it
	for child := t.all[m.ID.PID]; child.ppid > 0 && len(m.above) < len(t.all); {
		parent, seen := t.all[child.ppid]
		if seen && parent.start > child.start {
			break // its parent has ended, and the pid was given again
		}
		if !seen { // another user's, on a system that hides those
			parent = stat{pid: child.ppid}
		}
		if !known && !t.marks[parent.pid].like(*m) {
			known = true
			if !t.adopts(parent) {
				m.Foreign = parent.identity()
			}
		}
		if !seen {
			break
		}
		m.above = append(m.above, parent.identity())
		child = parent
	}
}

// like reports a process with the same mark.
func (m Marked) like(other Marked) bool {
	if m.ID.PID == 0 || m.Owner != other.Owner {
		return false
	}
	return m.Owner != "" || m.Commands[0] == other.Commands[0]
}

// adopts reports this program, and a process that orphans are given to.
func (t lineage) adopts(s stat) bool {
	if s.pid <= 1 || s.pid == os.Getpid() || serviceManager(s) {
		return true
	}
	return slices.ContainsFunc(t.keep, func(up stat) bool { return up.pid == s.pid }) && s.pid == adopter()
}

// marksOf reads the marks of an environment. A chain that is not spelled like one of
// ours is none.
func marksOf(env []string) (m Marked, ok bool) {
	m.Owner = Getenv(env, MemberVar)
	for _, one := range strings.Split(Getenv(env, markName), ":") {
		f := strings.Split(one, ".")
		if len(f) != 3 {
			continue
		}
		pid, perr := strconv.Atoi(f[0])
		run, rerr := strconv.ParseUint(f[2], 10, 64)
		if perr == nil && rerr == nil && pid > 1 && f[1] != "" {
			m.Commands = append(m.Commands, Mark{pid, f[1], run})
		}
	}
	return m, m.Owner != "" || len(m.Commands) > 0
}

// markName is the environment variable that Command.Reap adds: the marks of the
// commands that a process runs below, the outermost first, with colons between.
const markName = "WAGGLE_COMMAND"

var marks atomic.Uint64

// newMark names one run of a command among all runs of this boot.
func newMark() string {
	m := Mark{PID: os.Getpid(), Run: marks.Add(1)}
	if s, err := readStat(m.PID); err == nil {
		m.Start = s.startText()
	}
	return m.String()
}

func withMark(env []string, mark string) []string {
	if outer := Getenv(env, markName); outer != "" {
		mark = outer + ":" + mark
	}
	return append(env, markName+"="+mark)
}

func hasMark(env []string, mark string) bool {
	return slices.Contains(strings.Split(Getenv(env, markName), ":"), mark)
}
