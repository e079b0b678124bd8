//go:build !unix

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"waggle/internal/sandbox/relay"
	"waggle/spawn"
)

// Run is spawn.Command.Run when the level is Off, the only level of this system.
func (s Sandbox) Run(ctx context.Context, c spawn.Command) (spawn.Exit, error) {
	if s.Level == Off {
		return c.Run(ctx)
	}
	return spawn.Exit{Code: -1}, fmt.Errorf("%w: %w", ErrSetup, errors.ErrUnsupported)
}

// Ready is a command for a caller that starts the process itself.
type Ready struct {
	Argv []string
	Env  []string // the whole environment
}

// Prepare makes a Ready when the level is Off, the only level of this system.
func (s Sandbox) Prepare(c spawn.Command) (*Ready, error) {
	if s.Level == Off {
		return &Ready{Argv: c.Argv, Env: c.Env}, nil
	}
	return nil, fmt.Errorf("%w: %w", ErrSetup, errors.ErrUnsupported)
}

// Signal does nothing: the caller signals the process.
func (r *Ready) Signal(syscall.Signal) error { return nil }

// Close ends nothing: the process is the command.
func (r *Ready) Close() (*spawn.Exit, error) { return nil, nil }

// Test fails: this system has no sandbox.
func (s Sandbox) Test(context.Context, string) ([]relay.Point, error) {
	return nil, fmt.Errorf("%w: %w", ErrSetup, errors.ErrUnsupported)
}
