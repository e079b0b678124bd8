//go:build unix

package spawn

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// group is the process group of a recorded process that led it.
type group struct{ id Identity }

// liveAt returns the running members of the group and the recorded process itself,
// should it have left; none when neither is the recorded one any more.
func (g group) liveAt(read func() ([]stat, error)) ([]stat, error) {
	if g.id.Start == "" || g.id.Boot != bootID() {
		return nil, nil
	}
	all, err := g.table(read)
	if err != nil {
		return nil, err
	}
	// Last, so that little time passes before a signal.
	lead, err := readStat(g.id.PID)
	if err != nil && !errors.Is(err, ErrGone) {
		return nil, err
	}
	exists := err == nil && lead.is(g.id)
	taken := err == nil && !exists // a number in use is not given to a group
	alive := exists && !lead.zombie
	if taken {
		return nil, nil
	}
	members := g.members(all)
	if alive && lead.pgid != g.id.PGID {
		members = append(members, lead)
	}
	if alive {
		return members, nil
	}
	return members, g.noElders(members)
}

// table is the process table, or empty when the group is certainly empty.
func (g group) table(read func() ([]stat, error)) ([]stat, error) {
	if errors.Is(unix.Kill(-g.id.PGID, 0), unix.ESRCH) {
		return nil, nil
	}
	return read()
}

// members selects the processes in a group of that number, in the recorded session. An unknown
// session counts as another one: Linux reports 0 when the session's leader is outside of this
// process namespace.
func (g group) members(all []stat) []stat {
	var members []stat
	for _, s := range all {
		otherSession := g.id.SID != 0 && s.sid != g.id.SID
		if s.pgid == g.id.PGID && !s.zombie && !otherSession {
			members = append(members, s)
		}
	}
	return members
}

// noElders refuses a group whose leader is gone when a member of it is older than the leader was.
func (g group) noElders(members []stat) error {
	start, err := g.id.startTime()
	if err != nil {
		return err
	}
	for _, m := range members {
		if m.start < start {
			return fmt.Errorf("%w: group %d holds process %d, which is older than process %d",
				ErrNotOurs, g.id.PGID, m.pid, g.id.PID)
		}
	}
	return nil
}

func (g group) signal(live []stat, kill bool) error {
	var errs []error
	whole := false
	for _, s := range live {
		if s.pgid == g.id.PGID {
			whole = true
		} else {
			errs = append(errs, signalOne(s.identity(), kill))
		}
	}
	if whole {
		errs = append(errs, signals(kill, func(sig syscall.Signal) error {
			return unix.Kill(-g.id.PGID, sig)
		}))
	}
	return errors.Join(errs...)
}

// signalOne signals exactly the process id.
func signalOne(id Identity, kill bool) error {
	return holdProcess(id, func(p *os.Process) error {
		return signals(kill, func(sig syscall.Signal) error { return p.Signal(sig) })
	})
}

// signals sends SIGKILL, or SIGTERM and the SIGCONT that a stopped process needs
// to notice it.
func signals(kill bool, send func(syscall.Signal) error) error {
	if kill {
		return ignoreGone(send(unix.SIGKILL))
	}
	if err := ignoreGone(send(unix.SIGTERM)); err != nil {
		return err
	}
	return ignoreGone(send(unix.SIGCONT))
}

func suspend(p *os.Process, stop bool) error {
	if stop {
		return p.Signal(unix.SIGSTOP)
	}
	return p.Signal(unix.SIGCONT)
}

func ignoreGone(err error) error {
	if errors.Is(err, unix.ESRCH) || errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// ownGroup makes the child the leader of a new process group before it runs.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// ownTerminal makes the child the leader of a new session, whose terminal its standard input is.
func ownTerminal() (*syscall.SysProcAttr, error) {
	return &syscall.SysProcAttr{Setsid: true, Setctty: true}, nil
}
