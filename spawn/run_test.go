package spawn_test

import (
	"context"
	"errors"
	"testing"

	"waggle/spawn"
)

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
