//go:build !unix

package terminal

import (
	"context"
	"errors"
	"fmt"
	"os"

	"waggle/spawn"
)

type unsupported string

func (u unsupported) Name() string { return string(u) }

func (u unsupported) Start(context.Context, spawn.Spec) (*spawn.Process, error) {
	return nil, fmt.Errorf("spawn: start: %s with a terminal: %w", string(u), errors.ErrUnsupported)
}

// Process needs Unix.
func Process(Options) spawn.Backend { return unsupported("process") }

// Tmux needs Unix.
func Tmux(TmuxOptions) spawn.Backend { return unsupported("tmux") }

// ITerm2 needs Unix.
func ITerm2(ITerm2Options) spawn.Backend { return unsupported("iterm2") }

// Hold needs Unix.
func Hold(context.Context, string, *os.File, []string) (int, error) {
	return 1, fmt.Errorf("hold: %w", errors.ErrUnsupported)
}

// Attach needs Unix.
func Attach(context.Context, string, Screen) error {
	return fmt.Errorf("attach: %w", errors.ErrUnsupported)
}

// CloseInput needs Unix.
func CloseInput(context.Context, spawn.Place) error {
	return fmt.Errorf("close input: %w", errors.ErrUnsupported)
}

// Watch needs Unix.
func Watch(context.Context, WatchOptions, func(Event)) error {
	return fmt.Errorf("spawn: watch tmux: %w", errors.ErrUnsupported)
}

// TmuxHere needs Unix.
func TmuxHere(context.Context, string, []string) error { return errors.ErrUnsupported }

// TmuxPaneOf needs Unix.
func TmuxPaneOf(context.Context, string, []string, string, []int) (spawn.Pane, bool) {
	return spawn.Pane{}, false
}

// TmuxScreen needs Unix.
func TmuxScreen(context.Context, string, []string, spawn.Pane) (string, error) {
	return "", errors.ErrUnsupported
}

// TmuxState needs Unix.
func TmuxState(context.Context, string, []string, spawn.Pane, string) error {
	return errors.ErrUnsupported
}

// PaneFollower needs Unix.
type PaneFollower struct{}

// FollowTmux needs Unix.
func FollowTmux(context.Context, string, []string, spawn.Pane) (*PaneFollower, error) {
	return nil, errors.ErrUnsupported
}

// Changed needs Unix.
func (*PaneFollower) Changed() <-chan struct{} { return nil }

// Screen needs Unix.
func (*PaneFollower) Screen(context.Context) (string, error) { return "", errors.ErrUnsupported }

// Close needs Unix.
func (*PaneFollower) Close() {}

// TmuxBell needs Unix.
type TmuxBell struct{}

// NewTmuxBell needs Unix.
func NewTmuxBell(string, []string, bool) (*TmuxBell, error) { return nil, errors.ErrUnsupported }

// Ring needs Unix.
func (*TmuxBell) Ring(context.Context, string, string) error { return errors.ErrUnsupported }

// Quiet needs Unix.
func (*TmuxBell) Quiet(context.Context, string) error { return errors.ErrUnsupported }

// TmuxFits needs Unix.
func TmuxFits(context.Context, string, []string) (bool, error) { return false, errors.ErrUnsupported }

// ITermHere needs Unix.
func ITermHere(context.Context, string, []string) error { return errors.ErrUnsupported }

// ClosePane does nothing here.
func ClosePane(context.Context, string, []string, spawn.Place) error { return nil }
