package spawn_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"waggle/spawn"
	"waggle/spawn/spawntest"
)

// isolated runs the test that calls it in a process of its own, since there is no
// way back from being a subreaper. It returns true there.
func isolated(t *testing.T) bool {
	t.Helper()
	const env = "WAGGLE_SPAWN_ISOLATED"
	if os.Getenv(env) != "" {
		must(t, spawn.Subreaper())
		return true
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), env+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// orphan starts a helper, in a session of its own, whose parent ends.
func orphan(t *testing.T, mode spawntest.Mode) spawn.Identity {
	t.Helper()
	spec := spawntest.Spec(t, spawntest.ModeParent, string(mode)+",setsid")
	spawntest.Wait(t, spawntest.Start(t, processBackend, spec))
	id := identify(t, spawntest.Ready(t, spec.Log, 1)[mode])
	t.Cleanup(func() { kill(t, id) })
	return id
}

func reaps(t *testing.T, want int) {
	t.Helper()
	if n, err := spawn.ReapOrphans(); n != want || err != nil {
		t.Errorf("reaped %d, %v; want %d", n, err, want)
	}
}

// Orphans become children of the subreaper, have it among their ancestors, and are reaped by it; a
// child that will be waited for is not.
func TestReapOrphans(t *testing.T) {
	t.Parallel()
	if !isolated(t) {
		return
	}
	waited := helperCmd(t, spawntest.ModeExit, "7")
	child := start(t, waited)
	released := helperCmd(t, spawntest.ModeExit, "7")
	dropped := start(t, released)
	must(t, released.Process.Release())
	spawntest.Await(t, "the children to be zombies", func() bool { return !child.Alive() && !dropped.Alive() })
	reaps(t, 1) // the process that can be waited for no longer

	id := orphan(t, spawntest.ModeBlock)
	self := identify(t, os.Getpid())
	if up, err := spawn.Ancestors(id.PID); err != nil || !slices.Contains(up, self) {
		t.Errorf("ancestors of an orphan: %+v, %v", up, err)
	}
	reaps(t, 0)
	alive(t, id)
	kill(t, id)
	if _, err := spawn.Identify(id.PID); err != nil {
		t.Errorf("the orphan was reaped by somebody else: %v", err)
	}
	reaps(t, 1)
	if _, err := spawn.Identify(id.PID); !errors.Is(err, spawn.ErrGone) {
		t.Errorf("reaped, but %v", err)
	}

	reaps(t, 0)
	var status *exec.ExitError
	if err := waited.Wait(); !errors.As(err, &status) || status.ExitCode() != 7 {
		t.Errorf("the status was stolen: %v", err)
	}
}

// TestReapOrphansCost: while no child has ended, the table of processes is not read.
func TestReapOrphansCost(t *testing.T) {
	if !isolated(t) {
		return
	}
	child := helperCmd(t, spawntest.ModeBlock)
	start(t, child)
	t.Cleanup(func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	})
	if n := testing.AllocsPerRun(20, func() { reaps(t, 0) }); n > 10 {
		t.Errorf("a look that finds nothing makes %v allocations: it reads the table of processes", n)
	}
}

// No command loses its status while orphans are reaped all the time.
func TestReapOrphansBesideCommands(t *testing.T) {
	t.Parallel()
	if !isolated(t) {
		return
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := spawn.ReapOrphans(); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	for i := range 30 {
		cmd := helperCmd(t, spawntest.ModeExit, fmt.Sprint(i))
		err := cmd.Run()
		if i > 0 && !errors.As(err, new(*exec.ExitError)) || i == 0 && err != nil || cmd.ProcessState.ExitCode() != i {
			t.Errorf("exit %d: %v", i, err)
		}
	}
	close(stop)
	<-done
}

// Reap ends the daemons of its own command and reaps them: not those of another
// command that runs at the same time, nor orphans of other origin.
func TestRunReap(t *testing.T) {
	t.Parallel()
	if !isolated(t) {
		return
	}
	stranger := orphan(t, spawntest.ModeBlock)

	var other output
	c := helper(t, &other, spawntest.ModeParent, "block,setsid")
	cancelOther := running(t, c) // without Reap: it waits for the pipe
	neighbour := other.ready(t, 1)[spawntest.ModeBlock]

	var held output
	c = helper(t, &held, spawntest.ModeParent, "block,stay,setsid")
	c.Reap = true
	cancelHeld := running(t, c)
	held.ready(t, 2)

	for _, child := range []string{"block,setsid", "stubborn,setsid,silent", "parent,setsid block,setsid"} {
		var out output
		c := helper(t, &out, spawntest.ModeParent, strings.Fields(child)...)
		c.Grace = impatient
		c.Reap = true
		runs(t, c, spawn.Exit{})
		for mode, pid := range spawntest.ReadyIn([]byte(out.String())) {
			if _, err := spawn.Identify(pid); !errors.Is(err, spawn.ErrGone) {
				t.Errorf("%s: %s %d is left: %v", child, mode, pid, err)
			}
		}
		below, err := spawn.Descendants(os.Getpid())
		if err != nil || len(below) != 4 {
			t.Errorf("%s: %d processes left, not 4: %+v, %v", child, len(below), below, err)
		}
	}
	alive(t, stranger, neighbour)
	cancelled(t, cancelHeld)
	cancelled(t, cancelOther)
	alive(t, stranger, neighbour)
}
