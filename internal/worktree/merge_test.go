package worktree_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"waggle/internal/worktree"
)

func (w *world) tip(t worktree.Tree) worktree.Tip {
	w.t.Helper()
	tip, err := w.store.Git.Commit(w.t.Context(), t, "Work of bob\n\n# kept\n")
	if err != nil {
		w.t.Fatal(err)
	}
	return tip
}

func (w *world) target(t worktree.Tree, into string) worktree.Target {
	w.t.Helper()
	to, err := w.store.Git.Target(w.t.Context(), t, into)
	if err != nil {
		w.t.Fatal(err)
	}
	return to
}

// merge commits and merges as a caller does, and drops the tip.
func (w *world) merge(t worktree.Tree, how worktree.How) (worktree.Merged, worktree.Tip, error) {
	w.t.Helper()
	to, tip := w.target(t, ""), w.tip(t)
	m, err := w.store.Merge(w.t.Context(), worktree.Merging{Tree: t, Tip: tip, Into: to, How: how, Message: "Merge bob\n"})
	if derr := w.store.Git.Drop(w.t.Context(), t, tip); derr != nil {
		w.t.Error(derr)
	}
	if entries := w.git(w.repo, "worktree", "list"); strings.Contains(entries, ".merge-") {
		w.t.Errorf("a scratch checkout stays:\n%s", entries)
	}
	return m, tip, err
}

// TestMerge merges uncommitted work in each way, and removes worktree and branch.
func TestMerge(t *testing.T) {
	t.Parallel()
	for _, how := range []worktree.How{worktree.HowMerge, worktree.HowSquash, worktree.HowRebase} {
		t.Run(string(how), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "repo")
			tree := w.create("bob")
			w.write(tree.Path, "first.txt", "1\n")
			w.commit(tree.Path, "first of bob")
			w.write(tree.Path, "second.txt", "2\n")
			w.write(w.repo, "theirs.txt", "x\n")
			theirs := w.commit(w.repo, "theirs")
			w.hook("pre-commit", "exit 0\n")
			m, tip, err := w.merge(tree, how)
			if err != nil || !m.Changed {
				t.Fatalf("%+v, %v", m, err)
			}
			if !tip.Made || !slices.Equal(tip.Files, []string{"second.txt"}) || !slices.Equal(tip.Hooks, []string{"pre-commit"}) {
				t.Errorf("%+v", tip)
			}
			for name, text := range map[string]string{"first.txt": "1", "second.txt": "2", "theirs.txt": "x", "a.txt": "a"} {
				if got := w.git(w.repo, "show", "main:"+name); got != text {
					t.Errorf("%s: %q", name, got)
				}
			}
			if s := w.git(w.repo, "status", "--porcelain"); s != "" {
				t.Errorf("the checkout: %s", s)
			}
			parents := strings.Fields(w.git(w.repo, "log", "-1", "--format=%P", "main"))
			switch commits := w.git(w.repo, "rev-list", "--count", theirs+"..main"); how {
			case worktree.HowMerge:
				if len(parents) != 2 {
					t.Errorf("parents %v", parents)
				}
			case worktree.HowSquash:
				if len(parents) != 1 || commits != "1" || w.git(w.repo, "log", "-1", "--format=%s", "main") != "Merge bob" {
					t.Errorf("parents %v, %s commits", parents, commits)
				}
			case worktree.HowRebase:
				if len(parents) != 1 || commits != "2" || !strings.Contains(w.git(w.repo, "log", "-1", "--format=%B", "main"), "# kept") {
					t.Errorf("parents %v, %s commits", parents, commits)
				}
			}
			if err := w.store.RemoveMerged(t.Context(), tree, tip); err != nil {
				t.Error(err)
			}
			w.quiet()
		})
	}
}

// TestMergeElsewhere merges into a branch that no checkout is on.
func TestMergeElsewhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "repo")
	tree := w.create("bob")
	w.git(w.repo, "branch", "other")
	w.write(tree.Path, "new.txt", "x\n")
	tip := w.tip(tree)
	m, err := w.store.Merge(t.Context(), worktree.Merging{Tree: tree, Tip: tip, Into: w.target(tree, "other"), How: worktree.HowMerge, Message: "m"})
	if err != nil || !m.Changed || w.git(w.repo, "rev-parse", "other") != m.Commit {
		t.Errorf("%+v, %v", m, err)
	}
	if got := w.git(w.repo, "log", "-1", "--format=%s", "main"); got != "first" {
		t.Errorf("main is at %q", got)
	}
	again, err := w.store.Merge(t.Context(), worktree.Merging{Tree: tree, Tip: tip, Into: w.target(tree, "other"), How: worktree.HowMerge, Message: "m"})
	if err != nil || again.Changed {
		t.Errorf("again: %+v, %v", again, err)
	}
	for into, text := range map[string]string{"none": "does not exist", "waggle/api/bob": "own"} {
		var no *worktree.BranchError
		if _, err := w.store.Git.Target(t.Context(), tree, into); !errors.As(err, &no) || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", into, err)
		}
	}
}

// TestMergeLeavesTarget: after every failure the target and its checkout are unchanged.
func TestMergeLeavesTarget(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "repo")
	tree := w.create("bob")
	w.write(tree.Path, "a.txt", "bob\n")
	w.write(tree.Path, "clash.txt", "bob\n")
	w.write(w.repo, "a.txt", "main\n")
	main := w.commit(w.repo, "theirs")
	for _, how := range []worktree.How{worktree.HowMerge, worktree.HowSquash, worktree.HowRebase} {
		_, _, err := w.merge(tree, how)
		var conflict *worktree.ConflictError
		if !errors.As(err, &conflict) || !slices.Equal(conflict.Files, []string{"a.txt"}) {
			t.Errorf("%s: %v", how, err)
		}
	}
	same := func(what string) {
		t.Helper()
		if at := w.git(w.repo, "rev-parse", "main"); at != main {
			t.Errorf("%s: main is at %s", what, at)
		}
	}
	same("conflict")
	w.write(tree.Path, "a.txt", "a\n")
	w.write(w.repo, "clash.txt", "untracked, mine\n") // git refuses to overwrite it
	if _, _, err := w.merge(tree, worktree.HowSquash); err == nil || !strings.Contains(err.Error(), "clash.txt") {
		t.Errorf("%v", err)
	}
	same("untracked file")
	if got := w.git(w.repo, "status", "--porcelain"); got != "?? clash.txt" {
		t.Errorf("%q", got)
	}
	w.write(w.repo, "sub/b.txt", "changed\n")
	var dirty *worktree.DirtyError
	if _, err := w.store.Git.Target(t.Context(), tree, ""); !errors.As(err, &dirty) || !slices.Equal(dirty.Status.Changed, []string{"sub/b.txt"}) {
		t.Errorf("%v", err)
	}
	w.git(w.repo, "checkout", "--quiet", "--", ".")
	w.hook("pre-commit", "echo not today >&2; exit 1\n")
	w.write(tree.Path, "more.txt", "x\n")
	if _, err := w.store.Git.Commit(t.Context(), tree, "m"); err == nil || !strings.Contains(err.Error(), "not today") {
		t.Errorf("%v", err)
	}
	same("hook")
}

// TestMergedIsKept: a worktree with any file or commit besides the merged ones stays.
func TestMergedIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "repo")
	tree := w.create("bob")
	w.write(tree.Path, "a.txt", "bob\n")
	_, tip, err := w.merge(tree, worktree.HowSquash)
	if err != nil {
		t.Fatal(err)
	}
	var kept *worktree.KeptError
	w.write(tree.Path, "later.txt", "x\n")
	if err := w.store.RemoveMerged(t.Context(), tree, tip); !errors.As(err, &kept) || !strings.Contains(err.Error(), "1 uncommitted file") {
		t.Errorf("%v", err)
	}
	w.commit(tree.Path, "later")
	if err := w.store.RemoveMerged(t.Context(), tree, tip); !errors.As(err, &kept) || !strings.Contains(err.Error(), "1 unpushed commit") {
		t.Errorf("%v", err)
	}
}
