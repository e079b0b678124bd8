//go:build unix

package worktree_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"waggle/internal/testenv"
	"waggle/internal/worktree"
)

// TestOwnMerged: of a checkout with a git directory of its own, the uncommitted files are merged, no hook of
// the repository runs, and the checkout stays as it is until it is removed.
func TestOwnMerged(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "repo")
	mark := filepath.Join(t.TempDir(), "ran")
	for _, hook := range []string{"pre-commit", "commit-msg", "post-merge", "post-checkout", "pre-merge-commit"} {
		w.hook(hook, "echo "+hook+" >> '"+mark+"'\n")
	}
	for _, how := range testenv.Rows(t, []worktree.How{worktree.HowMerge, worktree.HowSquash, worktree.HowRebase}, 1) {
		name := "bob-" + string(how)
		tree := w.own(name)
		w.write(tree.Path, name+".committed", "1\n")
		w.git(tree.Path, "add", "--all")
		w.git(tree.Path, "commit", "--quiet", "--message", "work")
		w.write(tree.Path, name+".new", "2\n")
		if d := w.diff(tree); len(d.Files) != 2 {
			t.Errorf("%+v", d.Files)
		}
		head := w.git(tree.Path, "rev-parse", "HEAD")
		m, err := w.merge(tree, how, func(m *worktree.Merging) {
			m.Check = func(_ context.Context, r worktree.Tree) error { // as the member has it, with git
				if b, _ := os.ReadFile(filepath.Join(r.Path, name+".new")); string(b) != "2\n" {
					t.Errorf("the check has %q", b)
				}
				if got := w.git(r.Path, "rev-parse", "--absolute-git-dir"); got != filepath.Join(r.Path, ".git") {
					t.Errorf("its git directory is %s", got)
				}
				return nil
			}
		})
		tip := m.Tip
		if err != nil || !m.Changed || len(m.Hooks)+len(tip.Hooks) > 0 || !slices.Equal(tip.Files, []string{name + ".new"}) {
			t.Fatalf("%+v, %+v, %v", m, tip, err)
		}
		if got := w.git(tree.Path, "rev-parse", "HEAD"); got != head {
			t.Errorf("the member's checkout is at %s", got)
		}
		if got := w.git(w.repo, "show", "main:"+name+".new"); got != "2" {
			t.Errorf("%q", got)
		}
		w.write(tree.Path, "later", "x")
		var kept *worktree.KeptError
		if err := w.store.RemoveMerged(t.Context(), tree, tip); !errors.As(err, &kept) {
			t.Errorf("%v", err)
		}
		if err := os.Remove(filepath.Join(tree.Path, "later")); err != nil {
			t.Fatal(err)
		}
		if err := w.store.RemoveMerged(t.Context(), tree, tip); err != nil {
			t.Error(err)
		}
		w.gone(tree.Path)
	}
	w.gone(mark)
	w.quiet()
}
