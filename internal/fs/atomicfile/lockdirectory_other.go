//go:build !linux && !darwin

package atomicfile

import "errors"

// lockDirectory excludes nobody here.
func lockDirectory(string) (unlock func(), err error) { return func() {}, nil }

// chmodFile has no equivalent here that follows no link.
func chmodFile(string, uint32) error { return errors.ErrUnsupported }
