//go:build !unix

package worktree

import "os/exec"

// inGroup leaves a command as it is: here only git itself is ended.
func inGroup(*exec.Cmd) {}

// full is what git says, where the system has other words for it.
func full(error) bool { return false }
