//go:build unix

package worktree_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waggle/internal/fs/worktree"
	"waggle/internal/test/testenv"
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
				w.holds(filepath.Join(r.Path, name+".new"), "2\n")
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
		w.prints(head, tree.Path, "rev-parse", "HEAD")
		w.prints("2", w.repo, "show", "main:"+name+".new")
		w.write(tree.Path, "later", "x")
		w.kept(w.store.RemoveMerged(t.Context(), tree, tip))
		testenv.Must(t, os.Remove(filepath.Join(tree.Path, "later")))
		if err := w.store.RemoveMerged(t.Context(), tree, tip); err != nil {
			t.Error(err)
		}
		w.gone(tree.Path)
	}
	w.gone(mark)
	w.quiet()
}

// TestOwnMergedAgain: what was committed of a confined member's files, and is merged, is part of its work. A second
// merge has nothing to do, and neither later files nor a commit of the member's own conflict with the first.
func TestOwnMergedAgain(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	w := newWorld(t, "repo")
	tree := w.own("bob")
	step := func(text string, changed bool, files ...string) {
		t.Helper()
		m, err := w.merge(tree, worktree.HowMerge)
		if err != nil || m.Changed != changed || !slices.Equal(m.Tip.Files, files) {
			t.Fatalf("%+v, %v", m, err)
		}
		w.prints(text, w.repo, "show", "main:new")
		st, err := w.store.Git.Status(t.Context(), tree)
		if err != nil || !st.Clean() {
			t.Errorf("%s, %v", st, err)
		}
	}
	w.write(tree.Path, "new", "1\n")
	step("1", true, "new")
	step("1", false)
	w.write(tree.Path, "new", "2\n")
	step("2", true, "new")
	w.write(tree.Path, "new", "3\n")
	w.git(tree.Path, "add", "--all")
	w.git(tree.Path, "commit", "--quiet", "--message", "its own")
	step("3", true)
	step("3", false)
	w.write(tree.Path, "new", "4\n")
	w.git(tree.Path, "commit", "--quiet", "--all", "--message", "its own again")
	w.write(tree.Path, "more", "5\n")
	step("4", true, "more")
	tip, err := w.store.Git.Commit(t.Context(), tree, "unused")
	if err != nil || tip.Made {
		t.Fatalf("%+v, %v", tip, err)
	}
	if err := w.store.RemoveMerged(t.Context(), tree, tip); err != nil {
		t.Error(err)
	}
	w.gone(tree.Path)
}

// TestOwnRecorded: a commit of a confined member's files that a remote has is followed by the next one.
func TestOwnRecorded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "repo")
	tree := w.own("bob")
	commit := func(made bool) string {
		t.Helper()
		tip, err := w.store.Git.Commit(t.Context(), tree, "work\n")
		if err != nil || tip.Made != made {
			t.Fatalf("%+v, %v", tip, err)
		}
		for _, do := range []error{w.store.Git.Recorded(t.Context(), tree, tip.Commit), w.store.Git.Drop(t.Context(), tree)} {
			if do != nil {
				t.Fatal(do)
			}
		}
		return tip.Commit
	}
	w.write(tree.Path, "new", "1\n")
	first := commit(true)
	if again := commit(false); again != first {
		t.Errorf("%s after %s", again, first)
	}
	w.write(tree.Path, "new", "2\n")
	second := commit(true)
	w.prints(first, w.repo, "rev-parse", second+"^")
	w.git(tree.Path, "add", "--all")
	w.git(tree.Path, "commit", "--quiet", "--message", "its own")
	third := commit(false)
	if parents := w.git(w.repo, "rev-parse", third+"^1", third+"^2"); parents != w.git(tree.Path, "rev-parse", "HEAD")+"\n"+second {
		t.Errorf("the parents of the third are %s", parents)
	}
	w.git(tree.Path, "fetch", "--quiet", w.repo, third)
	w.git(tree.Path, "reset", "--quiet", "--hard", third)
	if at := commit(false); at != third {
		t.Errorf("it has pulled %s and is at %s", third, at)
	}
}

// TestMergedOfMany: work of more files and commits than a status lists is merged whole, counted right, and its
// worktree is removed.
func TestMergedOfMany(t *testing.T) {
	t.Parallel()
	const n = 120
	for _, own := range testenv.Rows(t, []bool{true, false}, 1) {
		w := newWorld(t, "repo")
		make := w.create
		if own {
			make = w.own
		}
		files, commits := make("files"), make("commits")
		for i := range n {
			w.write(files.Path, fmt.Sprintf("made/%03d.txt", i), "x\n")
			w.write(files.Path, fmt.Sprintf("%03d.txt", i), "x\n")
		}
		branch := w.git(commits.Path, "symbolic-ref", "HEAD")
		commit := "commit " + branch + "\ncommitter Ada <ada@example.com> 1700000000 +0000\ndata 4\nwork\n"
		if out, err := w.tryIn(commits.Path, commit+"from "+branch+"^0\n"+strings.Repeat(commit, n-1), "fast-import", "--quiet"); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		for tree, want := range map[worktree.Tree]int{files: 2 * n, commits: 0} {
			m, err := w.merge(tree, worktree.HowMerge)
			if err != nil || len(m.Tip.Files) != want {
				t.Fatalf("own %v: %d files, want %d: %v", own, len(m.Tip.Files), want, err)
			}
			if err := w.store.RemoveMerged(t.Context(), tree, m.Tip); err != nil {
				t.Errorf("own %v: %v", own, err)
			}
			w.gone(tree.Path)
		}
		w.quiet()
	}
}

// TestDiffAfterMerge: of a worktree that a merge has kept, the difference is what was merged until its files change: then
// it is what the next merge changes, a merged file that is gone included.
func TestDiffAfterMerge(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "repo")
	for name, tree := range map[string]worktree.Tree{"own": w.own("bob"), "linked": w.create("ann")} {
		file := tree.Path + "/" + name
		differ := func(want ...worktree.FileChange) {
			t.Helper()
			if got := w.diff(tree).Files; !slices.Equal(got, want) {
				t.Errorf("%s: %+v", name, got)
			}
		}
		w.write(tree.Path, name, "1\n")
		if _, err := w.merge(tree, worktree.HowMerge); err != nil {
			t.Fatal(err)
		}
		differ(worktree.FileChange{Path: name, Added: 1})
		testenv.Must(t, os.Remove(file))
		differ(worktree.FileChange{Path: name, Deleted: 1})
		w.write(tree.Path, name, "1\n2\n")
		differ(worktree.FileChange{Path: name, Added: 1})
		if m, err := w.merge(tree, worktree.HowMerge); err != nil || !m.Changed {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
}

// TestOwnDetached: what a confined member has committed on no branch after its work was merged keeps its worktree.
func TestOwnDetached(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "repo")
	tree := w.own("bob")
	w.write(tree.Path, "new", "1\n")
	m, err := w.merge(tree, worktree.HowMerge)
	testenv.Must(t, err)
	w.git(tree.Path, "checkout", "--quiet", "--detach")
	w.write(tree.Path, "later", "2\n")
	w.git(tree.Path, "add", "--all")
	w.git(tree.Path, "commit", "--quiet", "--message", "later")
	if kept := w.kept(w.store.RemoveMerged(t.Context(), tree, m.Tip)); len(kept.Status.Commits) != 1 {
		t.Errorf("%+v", kept.Status)
	}
	if _, err := os.Lstat(tree.Path); err != nil {
		t.Error(err)
	}
}
