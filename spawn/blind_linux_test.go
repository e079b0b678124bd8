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
	cmd, in, _ := scenario(t, "blind")
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: it says above what it took for gone", err)
	}
}

// blind is a scenario, the process that cannot inspect others: it inspects its parent, which runs,
// without a free file descriptor.
func blind() error {
	id, err := spawn.Identify(os.Getppid())
	if err != nil {
		return err
	}
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		return err
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Max: old.Max}); err != nil {
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
