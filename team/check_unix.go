//go:build unix

package team

import (
	"errors"
	"syscall"
)

// foreignDevice reports that a rename failed because the two places are not on
// one file system.
func foreignDevice(err error) bool { return errors.Is(err, syscall.EXDEV) }
