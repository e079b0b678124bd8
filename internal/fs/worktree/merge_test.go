package worktree_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waggle/internal/fs/worktree"
	"waggle/internal/test/testenv"
)

// merging is what a caller has merged.
func merging(t worktree.Tree, how worktree.How) worktree.Merging {
	return worktree.Merging{Tree: t, How: how, Commit: "Work of bob\n\n# kept\n", Merge: "Merge bob\n"}
}

// merge merges as a caller does, whose removal of the worktree is still to come.
func (w *world) merge(t worktree.Tree, how worktree.How, change ...func(*worktree.Merging)) (worktree.Merged, error) {
	w.t.Helper()
	m := merging(t, how)
	for _, c := range change {
		c(&m)
	}
	done, err := w.store.Merge(w.t.Context(), m)
	if err == nil {
		if err := w.store.Settled(w.t.Context(), t); err != nil {
			w.t.Error(err)
		}
	}
	w.noMerge()
	return done, err
}

// noMerge checks that nothing of a merge is left.
func (w *world) noMerge() {
	w.t.Helper()
	if is, err := w.store.Intents(); err != nil || len(is) > 0 {
		w.t.Errorf("intents %+v, %v", is, err)
	}
	if entries := w.git(w.repo, "worktree", "list"); strings.Contains(entries, ".merge-") {
		w.t.Errorf("a scratch checkout stays:\n%s", entries)
	}
	for _, dir := range []string{w.store.Dir, w.store.Records, filepath.Join(w.repo, ".git")} {
		entries, err := os.ReadDir(dir)
		if err != nil && !os.IsNotExist(err) {
			w.t.Error(err)
		}
		for _, e := range entries {
			if n := e.Name(); strings.HasPrefix(n, ".merge-") || strings.HasPrefix(n, ".check-") || strings.HasPrefix(n, "waggle-") || n == "index.lock" {
				w.t.Errorf("%s stays in %s", n, dir)
			}
		}
	}
	w.prints("", w.repo, "for-each-ref", "refs/waggle/merging")
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
			m, err := w.merge(tree, how)
			tip := m.Tip
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
			w.prints("", w.repo, "status", "--porcelain")
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
	into := func(m *worktree.Merging) { m.Into = "other" }
	m, err := w.merge(tree, worktree.HowMerge, into)
	if err != nil || !m.Changed || w.git(w.repo, "rev-parse", "other") != m.Commit {
		t.Errorf("%+v, %v", m, err)
	}
	w.prints("first", w.repo, "log", "-1", "--format=%s", "main")
	again, err := w.merge(tree, worktree.HowMerge, into)
	if err != nil || again.Changed {
		t.Errorf("again: %+v, %v", again, err)
	}
	for into, text := range map[string]string{"none": "does not exist", "waggle/api/bob": "own"} {
		var no *worktree.BranchError
		if _, err := w.merge(tree, worktree.HowMerge, func(m *worktree.Merging) { m.Into = into }); !errors.As(err, &no) || !strings.Contains(err.Error(), text) {
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
		_, err := w.merge(tree, how)
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
		if got := w.git(w.repo, "status", "--porcelain"); got != "" {
			t.Errorf("%s: %q", what, got)
		}
	}
	same("conflict")
	w.write(tree.Path, "a.txt", "a\n")
	w.hook("pre-commit", "echo not today >&2; exit 1\n")
	if _, err := w.merge(tree, worktree.HowMerge); err == nil || !strings.Contains(err.Error(), "not today") {
		t.Errorf("%v", err)
	}
	same("hook")
	w.hook("pre-commit", "exit 0\n")
	red := errors.New("red")
	_, err := w.merge(tree, worktree.HowSquash, func(m *worktree.Merging) {
		m.Check = func(_ context.Context, r worktree.Tree) error {
			for name, want := range map[string]string{"clash.txt": "bob\n", "a.txt": "main\n"} { // the merged result, not the branch
				if b, _ := os.ReadFile(filepath.Join(r.Path, name)); string(b) != want {
					t.Errorf("the check has %s: %q", name, b)
				}
			}
			return red
		}
	})
	if !errors.Is(err, red) {
		t.Errorf("%v", err)
	}
	same("check")
	_, err = w.merge(tree, worktree.HowSquash, func(m *worktree.Merging) {
		m.Check = func(context.Context, worktree.Tree) error {
			w.write(w.repo, "meanwhile.txt", "x\n")
			main = w.commit(w.repo, "meanwhile")
			return nil
		}
	})
	var moved *worktree.MovedTargetError
	if !errors.As(err, &moved) {
		t.Errorf("%v", err)
	}
	same("moved target")
	w.git(w.repo, "checkout", "--quiet", "-b", "side")
	w.write(w.repo, "a.txt", "side\n")
	w.commit(w.repo, "side")
	w.git(w.repo, "checkout", "--quiet", "main")
	var busy *worktree.BusyError
	w.git(w.repo, "checkout", "--quiet", "-B", "clash", "main")
	w.write(w.repo, "a.txt", "clash\n")
	w.commit(w.repo, "clash")
	if _, err := w.try(w.repo, "rebase", "side"); err == nil {
		t.Error("there is no conflict to resolve")
	}
	if _, err := w.merge(tree, worktree.HowSquash, func(m *worktree.Merging) { m.Into = "clash" }); !errors.As(err, &busy) || busy.Operation != "rebase" {
		t.Errorf("%v", err)
	}
}

// TestMergedIsKept: a worktree with any file or commit besides the merged ones stays.
func TestMergedIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "repo")
	tree := w.create("bob")
	w.write(tree.Path, "a.txt", "bob\n")
	m, err := w.merge(tree, worktree.HowSquash)
	tip := m.Tip
	testenv.Must(t, err)
	w.write(tree.Path, "later.txt", "x\n")
	w.kept(w.store.RemoveMerged(t.Context(), tree, tip), "1 uncommitted file")
	w.commit(tree.Path, "later")
	w.kept(w.store.RemoveMerged(t.Context(), tree, tip), "1 unpushed commit")
}
