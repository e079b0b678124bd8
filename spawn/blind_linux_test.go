package spawn_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"waggle/spawn"
)

func init() { scenarios["blind"] = blind }

// TestUninspectable: a process that cannot be inspected, here because the program has no file
// descriptor left, does not count as gone: it is waited for, its children are no orphans, and a
// member inside it has not ended.
func TestUninspectable(t *testing.T) {
	t.Parallel()
	plays(t, "blind")
}

// plays plays a scenario, which says what went wrong.
func plays(t *testing.T, name string) {
	t.Helper()
	cmd, in, _ := scenario(t, name)
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: it says above why", err)
	}
}

// blinded is who the parent of this process is, which from now on has no file descriptor left to look at
// it with, until it sees again.
func blinded() (id spawn.Identity, see func() error, err error) {
	if id, err = spawn.Identify(os.Getppid()); err != nil {
		return id, nil, err
	}
	var old unix.Rlimit
	if err = unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		return id, nil, err
	}
	return id, func() error { return unix.Setrlimit(unix.RLIMIT_NOFILE, &old) }, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Max: old.Max})
}

// blind is a scenario, the process that cannot inspect others: it inspects its parent, which runs,
// without a free file descriptor.
func blind() error {
	id, _, err := blinded()
	if err != nil {
		return err
	}
	var wrong []error
	fault := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	if alive, err := id.Check(); alive || err == nil {
		fault("Check: %v, %v; want an error, or this scenario shows nothing", alive, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if err := spawn.WaitGone(ctx, id); !errors.Is(err, context.DeadlineExceeded) {
		fault("WaitGone: %v, want that it waits until the time is up", err)
	}
	m := spawn.Marked{Commands: []spawn.Mark{{PID: id.PID, Start: id.Start, Run: 1}}}
	if _, orphan := m.Orphan(); orphan {
		fault("Orphan: what a running program has started counts as left behind")
	}
	for _, mark := range []func(*spawn.Identity){
		func(id *spawn.Identity) { id.Inside = true },
		func(id *spawn.Identity) { id.Theirs = true },
	} {
		other := id
		mark(&other)
		if rung, err := spawn.Stop(context.Background(), other, spawn.Grace{}); !errors.Is(err, spawn.ErrNotOurs) {
			fault("Stop of %+v: %q, %v; want that it may be running", other, rung, err)
		}
	}
	if rung, err := spawn.Stop(context.Background(), id, spawn.Grace{}); err == nil {
		fault("Stop: %q without an error", rung)
	}
	return errors.Join(wrong...)
}

func init() { scenarios["blind for a while"] = blindForAWhile }

// TestHeldPids: every process of which this program has a pidfd is found, though a file
// of the list is closed while it is read: that of the list itself.
func TestHeldPids(t *testing.T) {
	pid := os.Getppid()
	if held, err := spawn.HeldPids(); err != nil || held[pid] {
		t.Fatalf("before: %v, %v", held, err)
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Skip(err)
	}
	// The names are read in their order as text: this one comes late.
	late, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 990)
	unix.Close(fd)
	if err != nil {
		t.Skip(err)
	}
	defer unix.Close(late)
	if held, err := spawn.HeldPids(); err != nil || !held[pid] {
		t.Errorf("with a pidfd of %d: %v, %v", pid, held, err)
	}
}

// TestWaitGoneLooksAgain: a process that could not be looked at for a while is found gone
// when it can.
func TestWaitGoneLooksAgain(t *testing.T) {
	t.Parallel()
	plays(t, "blind for a while")
}

// blindForAWhile is a scenario: it waits for a process that has ended, and at first it has
// no file descriptor to find that with.
func blindForAWhile() error {
	id, see, err := blinded()
	if err != nil {
		return err
	}
	id.Start += "0" // another process: its number is the parent's by now
	if _, err := id.Check(); err == nil {
		return errors.New("the process can be looked at, so this scenario shows nothing")
	}
	done := make(chan error, 1)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	go func() { done <- spawn.WaitGone(ctx, id) }()
	time.Sleep(200 * time.Millisecond) // real clock: the kernel's, of a program that looks in vain meanwhile
	if err := see(); err != nil {
		return err
	}
	return <-done
}
