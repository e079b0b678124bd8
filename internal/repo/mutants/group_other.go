//go:build !unix

package main

import "syscall"

// ownGroup: signals to groups do not exist here.
func ownGroup() *syscall.SysProcAttr { return nil }
