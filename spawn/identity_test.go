package spawn_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/spawn"
	"waggle/spawn/spawntest"
)

func TestIdentifySelf(t *testing.T) {
	t.Parallel()
	id := identify(t, os.Getpid())
	if id.PID != os.Getpid() || id.Start == "" || !id.Alive() {
		t.Errorf("self: %+v, alive %v", id, id.Alive())
	}
	b, err := json.Marshal(id)
	testenv.Must(t, err)
	var back spawn.Identity
	if err := json.Unmarshal(b, &back); err != nil || back != id {
		t.Errorf("%s came back as %+v, %v", b, back, err)
	}
}

// TestAliveIsExact: an identity that differs from a process in any recorded field is that of
// another process.
func TestAliveIsExact(t *testing.T) {
	t.Parallel()
	id := identify(t, os.Getpid())
	for name, change := range map[string]func(*spawn.Identity){
		"start":     func(id *spawn.Identity) { id.Start += "0" },
		"no start":  func(id *spawn.Identity) { id.Start = "" },
		"boot":      func(id *spawn.Identity) { id.Boot = "another" },
		"pid":       func(id *spawn.Identity) { id.PID = 1 }, // it started with the machine: a parent may have started in the same tick
		"no pid":    func(id *spawn.Identity) { id.PID = 0 },
		"minus one": func(id *spawn.Identity) { id.PID = -1 },
	} {
		other := id
		change(&other)
		if alive, err := other.Check(); alive || err != nil || other.Alive() {
			t.Errorf("other %s: alive %v, %v", name, alive, err)
		}
	}
}

// A child that ended keeps its identity until it is reaped, and is not alive.
func TestZombie(t *testing.T) {
	t.Parallel()
	cmd := helperCmd(t, spawntest.ModeExit, "5")
	id := start(t, cmd)
	spawntest.Await(t, "the child to be a zombie", func() bool { return !id.Alive() })
	if again, err := spawn.Identify(id.PID); err != nil || again.Start != id.Start {
		t.Errorf("zombie: %+v, %v; was %+v", again, err, id)
	}
	if below, err := spawn.Descendants(os.Getpid()); err != nil || slices.ContainsFunc(below, func(d spawn.Identity) bool { return d.PID == id.PID }) {
		t.Errorf("zombie among the descendants: %+v, %v", below, err)
	}
	var status *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &status) || status.ExitCode() != 5 {
		t.Errorf("wait: %v", err)
	}
	if _, err := spawn.Identify(id.PID); !errors.Is(err, spawn.ErrGone) {
		t.Errorf("after it was reaped: %v", err)
	}
}

func TestNoProcess(t *testing.T) {
	t.Parallel()
	for _, pid := range []int{0, -1, -os.Getpid(), 1 << 30} {
		if _, err := spawn.Identify(pid); !errors.Is(err, spawn.ErrGone) {
			t.Errorf("identify %d: %v", pid, err)
		}
		if _, err := spawn.Parent(pid); !errors.Is(err, spawn.ErrGone) {
			t.Errorf("parent of %d: %v", pid, err)
		}
		if up, err := spawn.Ancestors(pid); !errors.Is(err, spawn.ErrGone) || len(up) > 0 {
			t.Errorf("ancestors of %d: %v, %v", pid, up, err)
		}
		if _, err := spawn.Descendants(pid); !errors.Is(err, spawn.ErrGone) {
			t.Errorf("descendants of %d: %v", pid, err)
		}
	}
}

// A grandchild is found from above and finds its way up, in its own session too.
func TestTree(t *testing.T) {
	t.Parallel()
	for _, flags := range []string{",stay", ",stay,setsid"} {
		spec := spawntest.Spec(t, spawntest.ModeParent, string(spawntest.ModeBlock)+flags)
		p := spawntest.Start(t, processBackend, spec)
		pids := spawntest.Ready(t, spec.Log, 2)
		child := identify(t, pids[spawntest.ModeBlock])
		self := identify(t, os.Getpid())
		if ppid, err := spawn.Parent(child.PID); err != nil || ppid != p.Identity().PID {
			t.Errorf("parent %d, %v, want %d", ppid, err, p.Identity().PID)
		}
		up, err := spawn.Ancestors(child.PID)
		if err != nil || len(up) < 2 || up[0] != p.Identity() || up[1] != self {
			t.Errorf("ancestors %+v, %v", up, err)
		}
		above, err := spawn.Ancestors(self.PID)
		if err != nil || !slices.Equal(up[2:], above) {
			t.Errorf("ancestors %+v continue as %+v, %v", up, above, err)
		}
		below, err := spawn.Descendants(self.PID)
		testenv.Must(t, err)
		i, j := slices.Index(below, p.Identity()), slices.Index(below, child)
		if i < 0 || j < i {
			t.Errorf("descendants %+v: parent at %d, child at %d", below, i, j)
		}
		if inGroup := child.PGID == p.Identity().PID; inGroup == strings.Contains(flags, "setsid") {
			t.Errorf("%s: %+v below %+v", flags, child, p.Identity())
		}
	}
}

func TestMine(t *testing.T) {
	t.Parallel()
	mine, err := spawn.Mine(os.Getpid())
	if errors.Is(err, errors.ErrUnsupported) && runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip(err)
	}
	if err != nil || !mine {
		t.Errorf("this process: %v, %v", mine, err)
	}
	for _, pid := range []int{0, -1, 1 << 22} {
		if mine, err := spawn.Mine(pid); mine || !errors.Is(err, spawn.ErrGone) {
			t.Errorf("%d: %v, %v", pid, mine, err)
		}
	}
	// Process 1 belongs to root on every system, so Mine is false for other users.
	if os.Getuid() == 0 {
		return
	}
	if mine, err := spawn.Mine(1); mine || err != nil {
		t.Errorf("process 1: %v, %v", mine, err)
	}
}

// TestRunWithoutAProcess: the exit code of a process that was not started is -1.
func TestRunWithoutAProcess(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if exit, err := (spawn.Command{Argv: []string{"/bin/true"}}).Run(ctx); exit.Code != -1 || !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of ctx: %+v, %v", exit, err)
	}
	if exit, err := (spawn.Command{Argv: []string{t.TempDir() + "/missing"}}).Run(t.Context()); exit.Code != -1 || err == nil {
		t.Errorf("a program that is not there: %+v, %v", exit, err)
	}
}
