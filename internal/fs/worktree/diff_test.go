package worktree_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/fs/worktree"
	"waggle/internal/test/testenv"
)

func (w *world) diff(t worktree.Tree) worktree.Difference {
	w.t.Helper()
	d, err := w.store.Git.Diff(w.t.Context(), t)
	testenv.Must(w.t, err)
	return d
}

// TestDiff compares with the recorded base: what is committed, staged, not staged and untracked. Nothing of
// the member's index changes.
func TestDiff(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "repo")
	tree := w.create("bob")
	if d := w.diff(tree); len(d.Files) > 0 || d.Text != "" || d.Base != tree.Base || d.Head != tree.Base {
		t.Errorf("%+v", d)
	}
	w.write(tree.Path, "a.txt", "a\nb\n")
	w.commit(tree.Path, "work")
	w.write(tree.Path, "staged", "x\n")
	w.git(tree.Path, "add", "staged")
	w.write(tree.Path, "dir/new.txt", "one\ntwo\n")
	w.write(tree.Path, "bin", "\x00\x01")
	w.write(tree.Path, "x.o", "ignored")
	testenv.Must(t, os.Remove(tree.Path+"/sub/b.txt"))
	before := w.git(tree.Path, "status", "--porcelain")
	d := w.diff(tree)
	want := []worktree.FileChange{{Path: "a.txt", Added: 1}, {Path: "bin", Binary: true}, {Path: "dir/new.txt", Added: 2}, {Path: "staged", Added: 1}, {Path: "sub/b.txt", Deleted: 1}}
	if df := cmp.Diff(want, d.Files); df != "" || d.More {
		t.Error(df)
	}
	for _, line := range []string{"+++ b/dir/new.txt", "+two", "-b", " a", "+b"} {
		if !strings.Contains("\n"+d.Text, "\n"+line+"\n") {
			t.Errorf("no %q in\n%s", line, d.Text)
		}
	}
	w.prints(before, tree.Path, "status", "--porcelain")
	// Work that was moved to a newer commit of main does not show the changes of others.
	w.write(w.repo, "theirs.txt", "x")
	w.commit(w.repo, "theirs")
	w.git(tree.Path, "add", "--all")
	w.git(tree.Path, "commit", "--quiet", "--message", "rest")
	w.git(tree.Path, "rebase", "--quiet", "main")
	if d := w.diff(tree); len(d.Files) != 5 || d.Base != w.git(w.repo, "rev-parse", "main") {
		t.Errorf("%+v", d.Files)
	}
	// The branch alone has it all too.
	w.git(w.repo, "worktree", "remove", tree.Path)
	if d := w.diff(tree); len(d.Files) != 5 {
		t.Errorf("%+v", d.Files)
	}
}

// TestDiffSameMoment: a change that was made in the moment in which the index was written, and left the size, is in the diff.
func TestDiffSameMoment(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "repo")
	tree := w.create("bob")
	file := filepath.Join(tree.Path, "a.txt")
	before, err := os.Stat(file)
	testenv.Must(t, err)
	w.write(tree.Path, "a.txt", "b\n")
	index := filepath.Join(w.git(tree.Path, "rev-parse", "--absolute-git-dir"), "index")
	for _, f := range []string{file, index} {
		testenv.Must(t, os.Chtimes(f, before.ModTime(), before.ModTime()))
	}
	w.git(tree.Path, "config", "core.trustctime", "false")
	if d := w.diff(tree); len(d.Files) != 1 {
		t.Errorf("%+v", d.Files)
	}
}
