//go:build unix

package spawntest

import "syscall"

func newSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
