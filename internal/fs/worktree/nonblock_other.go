//go:build !unix

package worktree

// nonblock is for systems with named pipes among files.
const nonblock = 0
