package spawn

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

// group replaces the process group, which Windows does not have: a process and its descendants.
type group struct{ id Identity }

// liveAt returns the recorded process and its descendants. A dead parent is still the parent of its
// children as long as its pid is not taken.
func (g group) liveAt(read func() ([]stat, error)) ([]stat, error) {
	if g.id.Start == "" || g.id.Boot != bootID() {
		return nil, nil
	}
	all, err := read()
	if err != nil {
		return nil, err
	}
	start, err := g.id.startTime()
	if err != nil {
		return nil, err
	}
	var live []stat
	root := stat{pid: g.id.PID, start: start}
	for _, s := range all {
		switch {
		case s.pid != g.id.PID:
		case !s.is(g.id):
			return nil, nil
		case !s.zombie:
			live = append(live, s)
		}
	}
	return append(live, below(all, root)...), nil
}

func (g group) signal(live []stat, kill bool) error {
	if !kill {
		// Reaches the processes of our console only; the others are killed later.
		_ = windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(g.id.PGID))
		return nil
	}
	return each{}.signal(live, true)
}

// signalOne kills exactly the process id; there is no way to ask it.
func signalOne(id Identity, kill bool) error {
	if !kill {
		return nil
	}
	return holdProcess(id, func(p *os.Process) error {
		err := p.Kill()
		if errors.Is(err, windows.ERROR_ACCESS_DENIED) && !id.Alive() {
			return nil // it was ending already
		}
		return err
	})
}

func suspend(*os.Process, bool) error { return errors.ErrUnsupported }

// ownGroup keeps the child out of the console signals that are meant for us.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

// ownTerminal fails: a console is no file that a process can be given.
func ownTerminal() (*syscall.SysProcAttr, error) { return nil, errors.ErrUnsupported }
