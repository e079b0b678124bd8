//go:build unix

package terminal

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"waggle/spawn"
)

// Process is the backend "process" with a terminal: the process runs in a
// pseudo-terminal of its own that Attach shows, and with no multiplexer at all.
func Process(o Options) spawn.Backend { return spawn.NewBackend("process", "", o.start) }

func (o Options) start(ctx context.Context, spec spawn.Spec) (*spawn.Process, error) {
	p, err := o.name(ctx, spec)
	if err != nil {
		return nil, err
	}
	if err := p.lay(o, spec, nil); err != nil {
		return nil, err
	}
	// A session of its own: the end of our terminal does not end it.
	cmd := exec.Command(o.Holder[0], append(o.Holder[1:len(o.Holder):len(o.Holder)], p.handover())...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	// A holder that is lost is known by the same mark as its process.
	for _, kv := range spec.Env {
		if strings.HasPrefix(kv, spawn.MemberVar+"=") {
			cmd.Env = append(cmd.Environ(), kv)
		}
	}
	if err := cmd.Start(); err != nil {
		p.clear()
		return nil, fmt.Errorf("holder: %w", err)
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_ = cmd.Wait() // how the process ended is in its record
	}()
	h, err := p.wait(ctx, func() bool { return !closed(gone) })
	if err != nil {
		if id, ierr := spawn.Identify(cmd.Process.Pid); ierr == nil && !closed(gone) {
			_, serr := spawn.StopTree(context.WithoutCancel(ctx), id, spawn.Grace{Term: time.Millisecond})
			err = errors.Join(err, serr)
		}
		<-gone
		p.clear()
		return nil, err
	}
	return spawn.NewProcess(h.Process, h.Place, func() spawn.Exit {
		<-gone
		return p.ended(h)
	}), nil
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// bell writes one BEL to the terminal of a pane, as a program in the pane does. It does not wait for a terminal that
// is stopped.
func bell(tty string) error {
	fd, err := syscall.Open(tty, syscall.O_WRONLY|syscall.O_NOCTTY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0) // an os.File would wait
	if err != nil {
		return fmt.Errorf("open %s: %w", tty, err)
	}
	var st syscall.Stat_t
	if err = syscall.Fstat(fd, &st); err == nil && st.Mode&syscall.S_IFMT != syscall.S_IFCHR {
		err = errors.New("it is no terminal")
	}
	if err == nil {
		_, err = syscall.Write(fd, []byte{7})
	}
	if err = errors.Join(err, syscall.Close(fd)); err != nil {
		return fmt.Errorf("ring %s: %w", tty, err)
	}
	return nil
}

// ownGroup makes the child the leader of a process group.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
