//go:build unix

package spawn_test

import (
	"fmt"
	"os"
	"syscall"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/spawn"
	"waggle/spawn/spawntest"
)

// hasState waits until a process has a state.
func hasState(t *testing.T, id spawn.Identity, want spawn.State) {
	t.Helper()
	var got spawn.State
	var err error
	testenv.Eventually(t, fmt.Sprintf("the process is %q", want), func() bool { got, err = id.State(); return got == want && err == nil },
		func() string { return fmt.Sprintf("it is %q, %v", got, err) })
}

// State distinguishes a stopped process from one that runs and from one that is gone; a stopped
// process is alive.
func TestLife(t *testing.T) {
	t.Parallel()
	cmd := helperCmd(t, spawntest.ModeBlock)
	id := start(t, cmd)
	hasState(t, id, spawn.Running)
	for _, step := range []struct {
		signal syscall.Signal
		want   spawn.State
	}{{syscall.SIGSTOP, spawn.Stopped}, {syscall.SIGCONT, spawn.Running}, {syscall.SIGSTOP, spawn.Stopped}, {syscall.SIGKILL, spawn.Gone}} {
		must(t, cmd.Process.Signal(step.signal))
		hasState(t, id, step.want)
		if id.Alive() != (step.want != spawn.Gone) {
			t.Errorf("after %s alive is %v", step.signal, id.Alive())
		}
	}
	_ = cmd.Wait()
	hasState(t, id, spawn.Gone)
}

// No call ends a process that another program started.
func TestTheirsIsNotEnded(t *testing.T) {
	t.Parallel()
	cmd := helperCmd(t, spawntest.ModeBlock)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	id := start(t, cmd)
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	id.Theirs = true
	refuses(t, id)
	hasState(t, id, spawn.Running)
	gone := spawn.Identity{PID: os.Getpid(), PGID: os.Getpid(), Start: "1", Boot: id.Boot, Theirs: true}
	if rung, err := spawn.StopTree(t.Context(), gone, spawn.Grace{}); rung != spawn.RungGone || err != nil {
		t.Errorf("one that is gone: %q, %v", rung, err)
	}
}
