//go:build !linux && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd

package ask

import "os"

func newDevice(_, _ *os.File, _ bool) (device, error) { return nil, ErrUnsupported }

// Repair has nothing to repair where nothing is asked.
func Repair(_, _ *os.File, _ func() bool) error { return nil }

// Drain has nothing to wait for where nothing is asked.
func Drain(*os.File) {}
