package transport

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Dead lists the sockets of a team on which no process listens any more. Files that are not sockets
// are not listed.
func (p SocketDirs) Dead() ([]string, error) {
	dirs := []string{p.Dir}
	if short := filepath.Dir(p.Path(strings.Repeat("x", maxSocketPath))); short != p.Dir {
		dirs = append(dirs, short)
	}
	var dead []string
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("transport: sockets: %w", err)
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			if e.Type() == fs.ModeSocket && strings.HasSuffix(path, ".sock") && !answers(path) {
				dead = append(dead, path)
			}
		}
	}
	slices.Sort(dead)
	return dead, nil
}

// RemoveDead removes a socket that Dead has listed, with its key, and its directory when that
// becomes empty. It checks again first, and returns false when the socket does not exist any more
// or a process listens on it.
func (p SocketDirs) RemoveDead(path string) (bool, error) {
	fi, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil || fi.Mode().Type() != fs.ModeSocket || answers(path) {
		return false, err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	err = os.Remove(p.key(strings.TrimSuffix(filepath.Base(path), ".sock")))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	_ = os.Remove(filepath.Dir(path)) // it stays while something else is in it
	return true, err
}

// answers reports whether a process may listen on a socket.
func answers(path string) bool {
	const patience = time.Second
	c, err := net.DialTimeout("unix", path, patience)
	if err == nil {
		c.Close()
		return true
	}
	return !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, fs.ErrNotExist)
}
