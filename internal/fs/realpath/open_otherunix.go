//go:build unix && !linux

package realpath

import "golang.org/x/sys/unix"

const walkFlags = unix.O_RDONLY

// openDir opens a directory and follows no link.
func openDir(dir string) (int, error) { return walkDir(dir) }
