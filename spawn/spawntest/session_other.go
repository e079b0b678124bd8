//go:build !unix

package spawntest

import "syscall"

// newSession has nothing to leave.
func newSession() *syscall.SysProcAttr { return nil }
