//go:build unix

package worktree

import (
	"errors"
	"os/exec"
	"syscall"
)

// inGroup starts a command in a process group of its own and ends all of it by
// SIGTERM, on which git takes away what it has made half.
func inGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}

// full reports an error of a full disk.
func full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
