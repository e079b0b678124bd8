package worktree_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/fs/worktree"
	"waggle/internal/test/testenv"
)

func TestChanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "repo")
	w.write(w.repo, "old.txt", "text that moves\n")
	w.commit(w.repo, "second")
	bob, ann := w.create("bob"), w.create("ann")
	changed := func(tree worktree.Tree, limit int) ([]string, bool) {
		t.Helper()
		files, more, err := w.store.Git.Changed(t.Context(), tree, limit)
		testenv.Must(t, err)
		return files, more
	}
	if files, more := changed(bob, 10); len(files) > 0 || more {
		t.Errorf("nothing edited: %q", files)
	}
	w.write(bob.Path, "committed.txt", "x")
	w.git(bob.Path, "mv", "old.txt", "moved.txt")
	w.commit(bob.Path, "work")
	w.write(bob.Path, "staged \"é\".txt", "x")
	w.git(bob.Path, "add", "--all")
	w.write(bob.Path, "a.txt", "x")
	w.write(bob.Path, "dir/un\ntracked", "x")
	w.write(bob.Path, "x.o", "ignored")
	want := []string{"a.txt", "committed.txt", "dir/un\ntracked", "moved.txt", "old.txt", "staged \"é\".txt"}
	files, more := changed(bob, 10)
	if d := cmp.Diff(want, files); d != "" || more {
		t.Error(d)
	}
	if files, more := changed(bob, 2); !more || len(files) != 2 {
		t.Errorf("%q, %v", files, more)
	}
	// Changes of others on the branch from which bob's came do not count as bob's.
	w.write(w.repo, "theirs.txt", "x")
	w.commit(w.repo, "theirs")
	w.git(bob.Path, "stash", "push", "--quiet", "--include-untracked")
	w.git(bob.Path, "rebase", "--quiet", "main")
	w.git(bob.Path, "stash", "pop", "--quiet", "--index")
	files, _ = changed(bob, 10)
	if d := cmp.Diff(want, files); d != "" {
		t.Error(d)
	}
	w.git(w.repo, "checkout", "--quiet", "--detach")
	w.git(w.repo, "branch", "--quiet", "--delete", "--force", "main") // without it, its base counts
	if files, _ = changed(bob, 10); len(files) != len(want)+1 {
		t.Errorf("%q", files)
	}
	w.write(ann.Path, "a.txt", "y")
	w.write(ann.Path, "only.txt", "y")
	af, _ := changed(ann, 10)
	got := worktree.Overlaps(map[string][]string{"bob": files, "ann": af, "eve": {"only.txt"}, "dup": {"z", "z"}})
	if d := cmp.Diff([]worktree.Overlap{{File: "a.txt", Members: []string{"ann", "bob"}}, {File: "only.txt", Members: []string{"ann", "eve"}}}, got); d != "" {
		t.Error(d)
	}
}

// TestManyFiles cuts every list.
func TestManyFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "repo")
	tree := w.create("bob")
	for i := range 300 {
		testenv.Must(t, os.WriteFile(filepath.Join(tree.Path, fmt.Sprintf("f%d", i)), nil, 0o644))
	}
	s := w.status(tree)
	if !s.More() || s.Clean() || s.Uncommitted() != 100 || s.String() != "at least 100 uncommitted files" || len(s.Lines(3)) != 3 {
		t.Errorf("%d, %s, %v", s.Uncommitted(), s, s.More())
	}
}
