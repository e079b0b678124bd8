//go:build !unix

package pane

import (
	"context"
	"errors"

	"waggle/agent"
	"waggle/spawn"
)

// Run implements agent.Display: there are no pseudo-terminals here.
func (p *Pane) Run(context.Context, agent.Exec, spawn.Command) (spawn.Exit, error) {
	return spawn.Exit{Code: -1}, errors.ErrUnsupported
}
