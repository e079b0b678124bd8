package worktree

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"waggle/internal/backoff"
)

// leftAfter is how long the lock of a ref stands before it is taken for one that a killed git has left: git holds
// such a lock for milliseconds, and no later git removes it.
const leftAfter = 5 * time.Second

var lockExists = regexp.MustCompile(`Unable to create '(.+\.lock)': File exists`)

// lockOf is the lock that a failed git found, if only waggle writes what it is for: a mirror, and the refs whose names
// are waggle's. Another lock may be a person's, whose editor is open. "": none.
func (g Git) lockOf(err error) string {
	failed, ok := errors.AsType[*GitError](err)
	if !ok {
		return ""
	}
	m := lockExists.FindStringSubmatch(failed.Said)
	if m == nil {
		return ""
	}
	lock := m[1]
	if !filepath.IsAbs(lock) {
		lock = filepath.Join(failed.Dir, lock)
	}
	name := filepath.ToSlash(lock)
	for _, ours := range []string{"/refs/heads/waggle/", "/refs/heads/waggle-", "/refs/waggle/"} {
		if strings.Contains(name, ours) {
			return lock
		}
	}
	if g.mirror && strings.HasPrefix(name, filepath.ToSlash(g.gitDir)+"/") {
		return lock
	}
	return ""
}

// removeLeft removes a lock that stays the same file for leftAfter, and reports whether it is gone.
func (g Git) removeLeft(ctx context.Context, lock string) bool {
	first, err := os.Lstat(lock)
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err != nil || !first.Mode().IsRegular() {
		return false
	}
	if !backoff.Pause(ctx, cmp.Or(g.LeftAfter, leftAfter)) { // real clock: another process's git
		return false
	}
	now, err := os.Lstat(lock)
	if err != nil || !os.SameFile(first, now) || !first.ModTime().Equal(now.ModTime()) {
		return errors.Is(err, fs.ErrNotExist)
	}
	return os.Remove(lock) == nil
}
