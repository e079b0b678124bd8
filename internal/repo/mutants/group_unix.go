//go:build unix

package main

import "syscall"

// ownGroup makes a process the leader of a group: a mutant that signals the group of its tests does
// not reach this program.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
