//go:build unix

package spawn

import "syscall"

// ownGroup makes the child the leader of a new process group before it runs.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// ownTerminal makes the child the leader of a new session, whose terminal its standard input is.
func ownTerminal() (*syscall.SysProcAttr, error) {
	return &syscall.SysProcAttr{Setsid: true, Setctty: true}, nil
}
