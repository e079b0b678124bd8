//go:build !unix

package terminal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"waggle/spawn"
)

// Process needs Unix.
func Process(Options) spawn.Backend {
	return spawn.NewBackend("process", "", func(context.Context, spawn.Spec) (*spawn.Process, error) {
		return nil, fmt.Errorf("process with a terminal: %w", errors.ErrUnsupported)
	})
}

// Hold needs Unix.
func Hold(context.Context, string, *os.File, []string) (int, error) {
	return 1, fmt.Errorf("hold: %w", errors.ErrUnsupported)
}

func bell(string) error { return errors.ErrUnsupported }

func ownGroup() *syscall.SysProcAttr { return nil }
