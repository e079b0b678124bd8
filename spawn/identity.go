package spawn

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
)

// ErrGone means that there is no such process.
var ErrGone = errors.New("no such process")

// Identity is one process for as long as the machine runs: a recycled pid has
// another start time, a reboot another boot. It is recorded right after a start
// and is all that a later program needs to watch or end the process. Pids are
// those of the PID namespace in which the identity was read.
type Identity struct {
	PID  int `json:"pid"`
	PGID int `json:"pgid"`
	// SID is the session of the process, which a recycled group does not share; 0 where unknown.
	SID   int    `json:"sid,omitempty"`
	Start string `json:"start"` // kernel start time, opaque; compared for equality
	Boot  string `json:"boot"`  // boot id, opaque; "" where unknown
	// Inside marks a member that runs inside this process: its state is that of the process, and
	// Stop does not end the process for it.
	Inside bool `json:"inside,omitempty"`
	// Theirs marks a process that another program started and that is only recorded: it is watched,
	// and Stop does not end it.
	Theirs bool `json:"theirs,omitempty"`
}

// Identify reads the identity of the process with this pid, whoever started it. The error matches
// ErrGone when there is none. A process that ended but was not yet reaped by its parent still has
// an identity, since its pid cannot be given away before that; Alive is false for it.
func Identify(pid int) (Identity, error) {
	s, err := readStat(pid)
	if err != nil {
		return Identity{}, failed(err, "identify %d", pid)
	}
	return s.identity(), nil
}

// Alive reports whether exactly this process runs. It is false for a zombie, for a recycled pid,
// for a process of another boot, and when the state cannot be read; Check reports that last case as
// an error.
func (id Identity) Alive() bool {
	alive, _ := id.Check()
	return alive
}

// Check is Alive with the reason for not knowing: a false without an error means
// that the process is certainly not running any more, a false with one that it
// could not be found out, for instance because this program has no file
// descriptor left.
func (id Identity) Check() (bool, error) {
	l, err := id.State()
	return l == Running || l == Stopped, err
}

// Is reports that other names exactly this process. An identity without a start time names none: another process may have
// its pid.
func (id Identity) Is(other Identity) bool {
	return id.PID > 0 && id.Start != "" && id.PID == other.PID && id.Start == other.Start && id.Boot == other.Boot
}

// Ended reports that exactly this process certainly does not run any more. It is false where that cannot
// be found out.
func (id Identity) Ended() bool {
	alive, err := id.Check()
	return !alive && err == nil
}

// State is the state of a recorded process.
type State string

// The states. A stopped process (SIGSTOP, a debugger) runs again when it is continued; on Windows
// that state cannot be read, and it counts as running.
const (
	Running State = "running"
	Stopped State = "stopped"
	Gone    State = "gone" // exactly this process does not run any more
)

// State reads the state of the process. It uses no clock, so that a machine that was suspended
// changes nothing. With an error (for instance when this program has no file descriptor left) the
// state is unknown, and State is "".
func (id Identity) State() (State, error) {
	if id.PID <= 0 || id.Start == "" || id.Boot != bootID() {
		return Gone, nil
	}
	s, err := readStat(id.PID)
	switch {
	case errors.Is(err, ErrGone):
		return Gone, nil
	case err != nil:
		return "", failed(err, "check %d", id.PID)
	case s.zombie || !s.is(id):
		return Gone, nil
	case s.stopped:
		return Stopped, nil
	}
	return Running, nil
}

// Parent returns the pid of the parent of a process, 0 for a process that has
// none in this PID namespace. The error matches ErrGone when there is no process
// with this pid. On Windows the parent may be gone and its pid recycled;
// Ancestors checks that.
func Parent(pid int) (int, error) {
	s, err := readStat(pid)
	return s.ppid, failed(err, "parent of %d", pid)
}

// stat is one row of the process table.
type stat struct {
	pid, ppid, pgid, sid int
	start                uint64 // grows with time, comparable within one boot
	zombie               bool
	stopped              bool          // by SIGSTOP or a debugger; false where the system does not say
	kernel               bool          // a thread of the kernel, on Linux
	cpu                  time.Duration // of it and of its children that were waited for; 0 where the table does not say
	rss                  uint64        // bytes; the same
	threads              int           // the same
}

func (s stat) identity() Identity {
	return Identity{PID: s.pid, PGID: s.pgid, SID: s.sid, Start: s.startText(), Boot: bootID()}
}

func (s stat) startText() string { return strconv.FormatUint(s.start, 10) }

// is reports whether the row is the process that was recorded as id, running or
// not.
func (s stat) is(id Identity) bool {
	return s.pid == id.PID && s.startText() == id.Start && id.Boot == bootID()
}

// startTime is the start of the recorded process in the unit of stat.start.
func (id Identity) startTime() (uint64, error) {
	n, err := strconv.ParseUint(id.Start, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("start time of process %d: %w", id.PID, err)
	}
	return n, nil
}

// bootID names this boot of the machine; "" where the system has no name for it.
var bootID = sync.OnceValue(readBootID)

// Mine reports whether a process belongs to the user that this program runs as. It returns false
// for root too, whom the system would let signal it. The error matches ErrGone when there is no
// process with this pid, and errors.ErrUnsupported elsewhere than on Linux and macOS.
func Mine(pid int) (bool, error) {
	uid, err := uint32(0), ErrGone
	if pid > 0 {
		uid, err = owner(pid)
	}
	return err == nil && uid == uint32(os.Getuid()), failed(err, "owner of %d", pid)
}

// WaitGone waits until exactly this process does not run any more, whoever started it: it has
// ended, or was never there. It need not be a child of this program. A recycled pid is another
// process and is not waited for. The error is that of ctx.
//
// On Linux and macOS the kernel reports the end. Elsewhere, and where the kernel has no handle, it
// is polled every 50 ms. A process that cannot be inspected counts as running.
func WaitGone(ctx context.Context, id Identity) error {
	if id.Ended() {
		return nil
	}
	awaitExit(ctx, id)
	// Polled after the kernel's report too: it may come a moment before the process is a zombie.
	if ended, _ := until(ctx, func() (bool, error) { return id.Ended(), nil }); !ended {
		return fmt.Errorf("spawn: wait for the end of %d: %w", id.PID, ctx.Err())
	}
	return nil
}
