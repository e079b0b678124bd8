package terminal_test

import (
	"testing"

	"waggle/spawn/spawntest"
	"waggle/spawn/terminal"
)

func TestProcessBackend(t *testing.T) {
	t.Parallel()
	spawntest.TestBackend(t, terminal.Process(options(t)))
}
