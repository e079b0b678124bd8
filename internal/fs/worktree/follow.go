package worktree

import (
	"path"
	"path/filepath"
)

// Watched are the directories in which git writes when the branch of a checkout with its own git directory
// moves, and the names of the files that it writes there; none for a linked worktree.
func (t Tree) Watched() (dirs []string, match func(name string) bool) {
	if !t.own() {
		return nil, nil
	}
	ref := filepath.FromSlash(refOf(t.Branch))
	dirs = []string{filepath.Join(t.gitDir(), "logs"), filepath.Join(t.gitDir(), filepath.Dir(ref))}
	return dirs, func(name string) bool { return name == "HEAD" || name == path.Base(t.Branch) }
}

// At is where the branch is in a checkout with its own git directory, "" when there is none. It reads files
// alone.
func (t Tree) At() (commit string, err error) {
	r, err := openRefs(t.gitDir())
	if err != nil {
		return "", err
	}
	defer r.close()
	return r.branch(t.Branch)
}
