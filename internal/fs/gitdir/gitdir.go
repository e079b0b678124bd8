// Package gitdir finds the git repository of a directory in the files alone, without running git:
//
//	top := gitdir.Top(cwd)                // "" outside of a repository
//	git := gitdir.Common(gitdir.Of(top)) // the directory with hooks and branches
//
// A .git without a HEAD is no repository, as it is none for git: an empty .git that is left in a
// directory for temporary files does not make that directory a project.
package gitdir

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Top returns the directory of the checkout at dir or of the nearest one above it, "" without one.
func Top(dir string) string {
	for {
		if Of(dir) != "" {
			return dir
		}
		above := filepath.Dir(dir)
		if above == dir {
			return ""
		}
		dir = above
	}
}

// Of returns the git directory of the checkout whose top is dir, "" when dir is the top of none: the
// directory .git, or the directory that a file .git names (worktrees, submodules). It has a HEAD.
func Of(dir string) string {
	git := filepath.Join(dir, ".git")
	if named, ok := strings.CutPrefix(line(git), "gitdir:"); ok {
		git = beside(dir, strings.TrimSpace(named))
	}
	if info, err := os.Lstat(filepath.Join(git, "HEAD")); err != nil || info.IsDir() {
		return ""
	}
	return git
}

// Common returns the git directory that a worktree's git directory shares with the repository's other
// checkouts; git itself where it shares none.
func Common(git string) string {
	if named := line(filepath.Join(git, "commondir")); named != "" {
		return beside(git, named)
	}
	return git
}

// HasCommit reports whether the HEAD of a git directory leads to a commit, as far as the files say.
func HasCommit(git string) bool {
	head := line(filepath.Join(git, "HEAD"))
	ref, named := strings.CutPrefix(head, "ref: ")
	if !named {
		return head != ""
	}
	common := Common(git)
	if line(filepath.Join(common, filepath.FromSlash(ref))) != "" {
		return true
	}
	packed, err := os.ReadFile(filepath.Join(common, "packed-refs"))
	return err == nil && strings.Contains(string(packed)+"\n", " "+ref+"\n")
}

// alternatesDeep is how far git follows repositories that use the objects of others.
const alternatesDeep = 5

// Alternates are the directories from which a repository takes objects besides its own, and those from which they do
// (gitrepository-layout(5), objects/info/alternates). common is its git directory.
func Alternates(common string) (dirs []string) {
	at := []string{filepath.Join(common, "objects")}
	for range alternatesDeep {
		var next []string
		for _, objects := range at {
			for named := range strings.Lines(line(filepath.Join(objects, "info", "alternates"))) {
				named = strings.TrimRight(named, "\r\n")
				if named == "" || strings.HasPrefix(named, "#") || strings.HasPrefix(named, `"`) { // a quoted one is for names with line ends
					continue
				}
				dir := beside(objects, named)
				if info, err := os.Stat(dir); err == nil && info.IsDir() && !slices.Contains(dirs, dir) {
					dirs, next = append(dirs, dir), append(next, dir)
				}
			}
		}
		at = next
	}
	return dirs
}

// beside is a path that a file in dir names.
func beside(dir, path string) string {
	if path = filepath.FromSlash(path); filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// longest is the size of the longest file that line reads.
const longest = 8 << 10

// line returns what a small regular file holds, without the end of its line; "" for anything else. It
// does not open a FIFO, which would block.
func line(path string) string {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() > longest {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, longest))
	if err != nil {
		return ""
	}
	return strings.TrimRight(string(b), "\r\n")
}
