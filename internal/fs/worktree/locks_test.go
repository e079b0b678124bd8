package worktree_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waggle/internal/fs/worktree"
	"waggle/internal/test/testenv"
)

// TestLeftLock: a lock that a killed git left on one of waggle's own refs, or in a mirror, is in nobody's way for long;
// one on a ref of a person's stays.
func TestLeftLock(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "repo")
	w.store.Git.LeftAfter = time.Millisecond
	tree, _, err := w.store.Create(t.Context(), worktree.Want{Team: "api", Member: "bob", Owner: "1", Cwd: w.repo, Own: true})
	testenv.Must(t, err)
	w.write(tree.Path, "new.txt", "new\n")
	w.commit(tree.Path, "work")
	git := filepath.Join(w.repo, ".git")
	for _, lock := range []string{filepath.Join(git, "refs/heads/waggle/api/bob.lock"), filepath.Join(tree.Mirror, "HEAD.lock"),
		filepath.Join(tree.Mirror, "index.lock"), filepath.Join(tree.Mirror, "refs/waggle/fetched.lock")} {
		testenv.Must(t, os.MkdirAll(filepath.Dir(lock), 0o700))
		w.write(filepath.Dir(lock), filepath.Base(lock), "")
	}
	if moved, err := w.store.Git.Fetch(t.Context(), tree); err != nil || !moved {
		t.Errorf("moved %v, %v", moved, err)
	}
	if _, err := w.store.Git.Status(t.Context(), tree); err != nil {
		t.Error(err)
	}
	if got, want := w.git(w.repo, "rev-parse", "waggle/api/bob"), w.git(tree.Path, "rev-parse", "HEAD"); got != want {
		t.Errorf("the branch is at %s, want %s", got, want)
	}
	lock := filepath.Join(git, "refs/heads/feature.lock")
	w.write(filepath.Dir(lock), "feature.lock", "")
	w.git(w.repo, "remote", "add", "origin", w.repo)
	w.git(w.repo, "update-ref", "refs/remotes/origin/feature", "HEAD")
	_, _, err = w.store.Create(t.Context(), worktree.Want{Team: "api", Member: "ann", Owner: "2", Cwd: w.repo, Begin: worktree.Begin{Branch: "feature"}})
	if err == nil || !strings.Contains(err.Error(), "feature.lock") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(lock); err != nil {
		t.Error(err)
	}
}
