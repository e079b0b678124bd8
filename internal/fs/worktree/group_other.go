//go:build !unix

package worktree

import "os/exec"

// inGroup leaves a command as it is: here only git itself is ended.
func inGroup(*exec.Cmd) {}

// full returns false: this system reports a full disk with other errors.
func full(error) bool { return false }
