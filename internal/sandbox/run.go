//go:build unix

package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"syscall"

	"waggle/spawn"
)

// Run is spawn.Command.Run in the sandbox. When ctx ends, the command gets SIGTERM, and after
// c.Grace every process in the sandbox is killed. Processes that the command left running are
// killed when it has ended. When the sandbox cannot be built, Run tries again a few times, because
// a socket to be hidden may disappear meanwhile; the output has only the reason of the last try.
func (s Sandbox) Run(ctx context.Context, c spawn.Command) (spawn.Exit, error) {
	for try := 1; ; try++ {
		exit, err := s.run(ctx, c, try == builds)
		if try == builds || !errors.Is(err, errNotStarted) || ctx.Err() != nil {
			return exit, err
		}
	}
}

// builds is the most times that Run tries to build a sandbox for one command.
const builds = 8

// errNotStarted means that bubblewrap ended before it started the command.
var errNotStarted = fmt.Errorf("%w: bubblewrap ended before the command was started, its reason is in the output", ErrSetup)

// run tries once. Unless it is the last try, it gives no output of one that was not built.
func (s Sandbox) run(ctx context.Context, c spawn.Command, last bool) (spawn.Exit, error) {
	none := spawn.Exit{Code: -1}
	r, err := s.Prepare(c)
	if err != nil {
		return none, err
	}
	c.Argv, c.Env = r.Argv, r.Env
	if r.door != nil && c.Grace.Input == nil {
		c.Grace.Input = func(context.Context) error { return r.Signal(syscall.SIGTERM) }
		c.Grace.InputWait = cmp.Or(c.Grace.Term, patience)
	}
	var held *heldOutput
	if r.door != nil && c.Output != nil && !last {
		held = &heldOutput{to: c.Output, begun: r.door.came}
		c.Output = held
	}
	c.Reap = c.Reap || r.mac != nil // without a pid namespace, processes that leave the group must be reaped
	exit, err := c.Run(ctx)
	told, rerr := r.Close()
	if told != nil {
		exit = *told
	}
	if held != nil && (!errors.Is(rerr, errNotStarted) || err != nil || ctx.Err() != nil) {
		err = errors.Join(err, held.flush())
	}
	switch {
	case errors.Is(rerr, ErrProxy):
		return exit, errors.Join(err, rerr)
	case errors.Is(err, spawn.ErrNeverRan):
		return none, errors.Join(errNotStarted, err)
	case err != nil:
		return exit, err
	case rerr != nil && told == nil:
		return none, rerr
	case r.door != nil && told == nil && exit.Code == 128+int(syscall.SIGKILL): // of bubblewrap: its relay was killed, and the command with it
		return spawn.Exit{Code: -1, Signal: syscall.SIGKILL.String()}, nil
	}
	return exit, nil
}

// Ready is a command in a sandbox for a caller that starts the process itself, with its own pipes
// or in a terminal.
//
//	r, err := sb.Prepare(spawn.Command{Argv: argv, Dir: dir, Env: environ})
//	… start r.Argv with the environment r.Env in dir, and wait for it …
//	exit, err := r.Close()
type Ready struct {
	Argv []string
	Env  []string // the whole environment

	door  *door // nil: macOS, or no sandbox
	group group
	used  *Used
	mac   *macProxy
}

// Prepare makes a Ready. The caller closes it, also when it starts no process.
func (s Sandbox) Prepare(c spawn.Command) (*Ready, error) {
	if s.Level == Off {
		return &Ready{Argv: c.Argv, Env: c.Env}, nil
	}
	if runtime.GOOS == "darwin" {
		s.Profile.Readable = append(slices.Clone(s.Profile.Readable), s.Kit.Relay) // it may lie in what is hidden
	}
	profile, machine, err := Look(s.Profile, s.Level)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSetup, err)
	}
	var r *Ready
	if runtime.GOOS == "darwin" {
		r, err = s.prepareMac(profile, machine, c)
	} else {
		r, err = s.prepare(profile, machine, c)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSetup, err)
	}
	return r, nil
}

func (s Sandbox) prepare(profile Profile, machine Machine, c spawn.Command) (*Ready, error) {
	var network func(net.Listener) error
	if s.Network != nil && s.Level == Enforced {
		network = func(l net.Listener) error { return s.Network(l, s.Name) }
	}
	own, err := s.Groups.make(s.Profile.Limits)
	if err != nil {
		return nil, err
	}
	d, err := openDoor(cmp.Or(s.Kit.Doors, s.Kit.Dir), network, own.enter)
	if err != nil {
		return nil, errors.Join(err, own.remove())
	}
	s.Used.begin(own)
	r := &Ready{door: d, group: own, used: s.Used}
	if r.Argv, r.Env, err = profile.plan(s.Kit, machine, s.Level, c, d.Path, network != nil); err != nil {
		_, _ = r.Close() // the relay has not connected
		return nil, err
	}
	return r, nil
}

// Signal sends a signal to the command's process group. Before the command has started,
// and after it has ended, it does nothing. On macOS the caller signals the process.
func (r *Ready) Signal(sig syscall.Signal) error {
	if r.door == nil {
		return nil
	}
	return r.door.signal(sig)
}

// Close ends the call and closes its connections. The caller calls it when the process that it
// started has ended. It returns how the command ended; nil: unknown, or the process is the command
// itself.
func (r *Ready) Close() (*spawn.Exit, error) {
	if r.mac != nil {
		return nil, r.mac.close()
	}
	if r.door == nil {
		return nil, nil
	}
	told, cpu, came, err := r.door.close()
	r.used.end(cpu)
	_ = r.group.remove() // an empty group that remains is harmless; FindGroups removes it
	switch {
	case err != nil:
		return told, fmt.Errorf("sandbox: %w", err)
	case told == nil && !came:
		return nil, errNotStarted
	}
	return told, nil
}

// heldOutput keeps what is written before a command has begun: the words of bubblewrap about a
// sandbox that it could not build.
type heldOutput struct {
	to    io.Writer
	begun func() bool
	text  []byte
}

func (h *heldOutput) Write(p []byte) (int, error) {
	if !h.begun() {
		h.text = append(h.text, p[:min(len(p), heldMost-len(h.text))]...)
		return len(p), nil
	}
	if err := h.flush(); err != nil {
		return 0, err
	}
	return h.to.Write(p)
}

// heldMost is more than bubblewrap says.
const heldMost = 64 << 10

// flush writes what was kept.
func (h *heldOutput) flush() error {
	if len(h.text) == 0 {
		return nil
	}
	text := h.text
	h.text = nil
	_, err := h.to.Write(text)
	return err
}
