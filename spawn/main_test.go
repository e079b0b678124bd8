package spawn_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"go.uber.org/goleak"

	"waggle/internal/test/testenv"
	"waggle/spawn"
	"waggle/spawn/spawntest"
)

var processBackend = spawn.ProcessBackend()

// scenarios are programs of this package's own: this test binary started again
// with scenarioEnv set, since what they do changes their whole process.
var scenarios = map[string]func() error{}

const scenarioEnv = "WAGGLE_SPAWN_SCENARIO"

func TestMain(m *testing.M) {
	spawntest.Main()
	if name := os.Getenv(scenarioEnv); name != "" {
		if err := scenarios[name](); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	testenv.Overlap(1)
	goleak.VerifyTestMain(m)
}

func TestBackend(t *testing.T) { spawntest.TestBackend(t, processBackend) }

func identify(t testing.TB, pid int) spawn.Identity {
	t.Helper()
	id, err := spawn.Identify(pid)
	testenv.Must(t, err)
	return id
}

// refuses asks that nobody can end a process by its identity.
func refuses(t *testing.T, id spawn.Identity) {
	t.Helper()
	g := spawn.Grace{Term: 50 * time.Millisecond, Kill: 10 * time.Second}
	for name, stop := range map[string]func(context.Context, spawn.Identity, spawn.Grace) (string, error){"stop": spawn.Stop, "stop tree": spawn.StopTree} {
		if rung, err := stop(t.Context(), id, g); rung != "" || !errors.Is(err, spawn.ErrNotOurs) {
			t.Errorf("%s %+v: %q, %v", name, id, rung, err)
		}
	}
}

// start starts a program that the test waits for itself.
func start(t testing.TB, cmd *exec.Cmd) spawn.Identity {
	t.Helper()
	testenv.Must(t, cmd.Start())
	return identify(t, cmd.Process.Pid)
}

func helperCmd(t testing.TB, mode spawntest.Mode, args ...string) *exec.Cmd {
	t.Helper()
	argv, env := spawntest.Helper(t, mode, args...)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = env
	return cmd
}
