package spawn_test

import (
	"fmt"
	"os"
	"testing"

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

// must ends a test for an error of what it needs.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
