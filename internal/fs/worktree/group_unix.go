//go:build unix

package worktree

import (
	"os/exec"
	"syscall"
)

// inGroup starts a command in a process group of its own and ends the whole group by SIGTERM, on
// which git removes what it has half made.
func inGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}
