//go:build !unix

package worktree

import "os/exec"

// inGroup leaves a command as it is: here only git itself is ended.
func inGroup(*exec.Cmd) {}
