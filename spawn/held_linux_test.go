package spawn_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"waggle/spawn"
)

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
	cmd, in, _ := scenario(t, "blind for a while")
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: it says above why", err)
	}
}

// blindForAWhile is a scenario: it waits for a process that has ended, and at first it has
// no file descriptor to find that with.
func blindForAWhile() error {
	id, err := spawn.Identify(os.Getppid())
	if err != nil {
		return err
	}
	id.Start += "0" // another process: its number is the parent's by now
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		return err
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Max: old.Max}); err != nil {
		return err
	}
	if _, err := id.Check(); err == nil {
		return errors.New("the process can be looked at, so this scenario shows nothing")
	}
	done := make(chan error, 1)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	go func() { done <- spawn.WaitGone(ctx, id) }()
	time.Sleep(200 * time.Millisecond) // real clock: the kernel's, of a program that looks in vain meanwhile
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		return err
	}
	return <-done
}
