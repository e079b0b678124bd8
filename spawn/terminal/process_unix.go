//go:build unix

package terminal

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"waggle/internal/fs/atomicfile"
	"waggle/spawn"
)

// Process is the backend "process" with a terminal: the process runs in a
// pseudo-terminal of its own that Attach shows, and with no multiplexer at all.
func Process(o Options) spawn.Backend { return backend{"process", "", o.start} }

// backend is a backend of this package: its name, where it starts processes, and how.
type backend struct {
	name, where string
	start       func(context.Context, spawn.Spec) (*spawn.Process, error)
}

var _ spawn.Backend = backend{}

func (b backend) Name() string { return b.name }

func (b backend) Start(ctx context.Context, spec spawn.Spec) (*spawn.Process, error) {
	p, err := b.start(ctx, spec)
	if err != nil {
		return nil, fmt.Errorf("spawn: start%s: %w", b.where, err)
	}
	return p, nil
}

func (o Options) start(ctx context.Context, spec spawn.Spec) (*spawn.Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := errors.Join(o.check(), spec.Check()); err != nil {
		return nil, err
	}
	p, err := o.name()
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

// turn waits until no other program, nor another goroutine, makes a pane for this
// team: each needs the room that the last one left, and the first makes tmux's session.
func (o Options) turn(ctx context.Context, lock string) (over func(), err error) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		release, held, err := atomicfile.TryFlock(filepath.Join(o.Dir, lock), atomicfile.Options{Rank: atomicfile.RankLease})
		if err != nil {
			return nil, err
		}
		if held {
			return func() { _ = release() }, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
		}
	}
}

// ended waits until a process whose holder has ended is gone too, and returns how: a killed
// holder's process is hung up on and may take a while.
func (p paths) ended(h hold) spawn.Exit {
	_ = spawn.WaitGone(context.Background(), h.Process) // it has no other end
	exit, _ := p.exit()
	if h.Place.Pane == nil {
		p.clear() // a pane stays to be read, until Close
	}
	return exit
}
