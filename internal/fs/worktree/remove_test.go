package worktree_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/fs/worktree"
	"waggle/internal/test/testenv"
)

// TestRemoveRefuses: Remove leaves every kind of work in its place, and names the kind.
func TestRemoveRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		work func(w *world, tree worktree.Tree)
		says string
		undo func(w *world, tree worktree.Tree) // makes it clean again
	}{
		{"changed", func(w *world, tree worktree.Tree) { w.write(tree.Path, "a.txt", "mine") }, "1 uncommitted file",
			func(w *world, tree worktree.Tree) { w.git(tree.Path, "checkout", "--", ".") }},
		{"staged", func(w *world, tree worktree.Tree) {
			w.write(tree.Path, "a.txt", "mine")
			w.git(tree.Path, "add", "a.txt")
		}, "1 uncommitted file", nil},
		{"untracked", func(w *world, tree worktree.Tree) {
			w.write(tree.Path, "new\nfile", "x")
			w.write(tree.Path, "other", "x")
		}, "2 uncommitted files", nil},
		{"deleted", func(w *world, tree worktree.Tree) {
			if err := os.Remove(filepath.Join(tree.Path, "a.txt")); err != nil {
				w.t.Error(err)
			}
		}, "1 uncommitted file", nil},
		{"committed", func(w *world, tree worktree.Tree) {
			w.write(tree.Path, "a.txt", "mine")
			w.commit(tree.Path, "my work")
		}, "1 unpushed commit", func(w *world, tree worktree.Tree) { w.git(w.repo, "merge", "--quiet", tree.Branch) }},
		{"pushed", func(w *world, tree worktree.Tree) {
			w.write(tree.Path, "a.txt", "mine")
			w.commit(tree.Path, "my work")
		}, "1 unpushed commit", func(w *world, tree worktree.Tree) {
			remote := w.t.TempDir()
			w.git(remote, "init", "--quiet", "--bare")
			w.git(w.repo, "remote", "add", "origin", remote)
			w.git(tree.Path, "push", "--quiet", "origin", "HEAD")
		}},
		{"committed on no branch", func(w *world, tree worktree.Tree) {
			w.git(tree.Path, "checkout", "--quiet", "--detach")
			w.write(tree.Path, "a.txt", "mine")
			w.commit(tree.Path, "my work")
		}, "1 unpushed commit", nil},
		{"committed on its branch, which it left", func(w *world, tree worktree.Tree) {
			w.write(tree.Path, "a.txt", "mine")
			w.commit(tree.Path, "my work")
			w.git(tree.Path, "checkout", "--quiet", "--detach", "HEAD~1")
		}, "1 unpushed commit", nil},
		{"stashed", func(w *world, tree worktree.Tree) {
			w.write(tree.Path, "a.txt", "mine")
			w.git(tree.Path, "stash", "push", "--quiet", "--message", "later")
		}, "1 stash entry", func(w *world, tree worktree.Tree) { w.git(w.repo, "stash", "drop", "--quiet") }},
		{"in a merge", func(w *world, tree worktree.Tree) {
			w.git(tree.Path, "checkout", "--quiet", "-b", "side")
			w.write(tree.Path, "a.txt", "mine")
			w.commit(tree.Path, "side")
			w.git(tree.Path, "checkout", "--quiet", tree.Branch)
			w.git(tree.Path, "merge", "--quiet", "--no-ff", "--no-commit", "side")
		}, "1 uncommitted file, merge in progress", nil},
		{"locked", func(w *world, tree worktree.Tree) {
			w.git(w.repo, "worktree", "lock", "--reason", "mine", tree.Path)
		}, "locked: mine", func(w *world, tree worktree.Tree) { w.git(w.repo, "worktree", "unlock", tree.Path) }},
		{"hidden from git", func(w *world, tree worktree.Tree) {
			w.git(tree.Path, "update-index", "--assume-unchanged", "a.txt")
			w.git(tree.Path, "update-index", "--skip-worktree", "sub/b.txt")
			w.write(tree.Path, "a.txt", "mine")
			w.write(tree.Path, "sub/b.txt", "mine")
		}, "2 uncommitted files", nil},
		{"another repository in its place", func(w *world, tree worktree.Tree) {
			if err := os.Remove(filepath.Join(tree.Path, ".git")); err != nil {
				w.t.Error(err)
			}
			w.git(tree.Path, "init", "--quiet")
		}, "main checkout", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "repo")
			tree := w.create("bob")
			c.work(w, tree)
			before := w.snapshot(tree.Path)
			var kept *worktree.KeptError
			for range 2 {
				if err := w.store.Remove(t.Context(), tree); !errors.As(err, &kept) || !strings.Contains(err.Error(), c.says) || !strings.HasSuffix(err.Error(), tree.Path) {
					t.Fatalf("%v", err)
				}
			}
			if d := cmp.Diff(before, w.snapshot(tree.Path)); d != "" {
				t.Errorf("it was changed:\n%s", d)
			}
			if rs, err := w.store.List(); err != nil || len(rs) != 1 {
				t.Errorf("on record: %v, %v", rs, err)
			}
			if c.undo == nil {
				return
			}
			c.undo(w, tree)
			own := w.git(w.repo, "rev-list", tree.Branch, "--not", tree.Base) != ""
			testenv.Must(t, w.store.Remove(t.Context(), tree))
			w.gone(tree.Path)
			if has := len(w.branches()) == 1; has != own {
				t.Errorf("the branch is there: %v, and has commits of its own: %v", has, own)
			}
		})
	}
}

// snapshot is every file below a directory.
func (w *world) snapshot(dir string) map[string]string {
	w.t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		files[path] = string(b)
		return err
	})
	testenv.Must(w.t, err)
	return files
}

func TestRemoveOnlyOurs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "repo")
	theirs := filepath.Join(t.TempDir(), "theirs")
	w.git(w.repo, "worktree", "add", "--quiet", "-b", "theirs", theirs)
	for _, path := range []string{w.repo, theirs, filepath.Join(w.store.Dir, "bob"), ""} {
		var unknown *worktree.UnknownError
		if err := w.store.Remove(t.Context(), worktree.Tree{Path: path, Branch: "theirs", Repo: w.repo, Common: filepath.Join(w.repo, ".git")}); !errors.As(err, &unknown) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := os.Stat(filepath.Join(theirs, "a.txt")); err != nil {
		t.Error(err)
	}
}

// TestIgnored: ignored files are removed with their worktree.
func TestIgnored(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "repo")
	tree := w.create("bob")
	w.write(tree.Path, "x.o", "object")
	testenv.Must(t, w.store.Remove(t.Context(), tree))
	w.quiet()
}

// TestDirectoryGone: a person has removed a worktree's directory, with git or without.
func TestDirectoryGone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		remove func(w *world, tree worktree.Tree)
	}{
		{"without git", func(w *world, tree worktree.Tree) {
			if err := os.RemoveAll(tree.Path); err != nil {
				t.Error(err)
			}
		}},
		{"with git", func(w *world, tree worktree.Tree) { w.git(w.repo, "worktree", "remove", tree.Path) }},
	} {
		w := newWorld(t, "repo")
		bob, ann := w.create("bob"), w.create("ann")
		c.remove(w, bob)
		if err := w.store.Remove(t.Context(), bob); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		w.write(ann.Path, "a.txt", "mine")
		w.commit(ann.Path, "my work")
		c.remove(w, ann)
		var kept *worktree.KeptError
		if err := w.store.Remove(t.Context(), ann); !errors.As(err, &kept) || !strings.Contains(err.Error(), "1 unpushed commit, its directory is gone") {
			t.Errorf("%s: %v", c.name, err)
		}
		if again := w.create("ann"); again != ann {
			t.Errorf("%s: %+v", c.name, again)
		}
		if b, err := os.ReadFile(filepath.Join(ann.Path, "a.txt")); err != nil || string(b) != "mine" {
			t.Errorf("%s: %q, %v", c.name, b, err)
		}
	}
}

// TestDirectoryGoneElsewhere: a person has removed the directory of a worktree that was not at its branch's end: commits
// on no branch are work too, and the next session of the member finds them.
func TestDirectoryGoneElsewhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "repo")
	for name, work := range map[string]func(tree worktree.Tree){
		"ann": func(tree worktree.Tree) { w.git(tree.Path, "checkout", "--quiet", "--detach") },
		"bob": func(tree worktree.Tree) {
			w.git(tree.Path, "checkout", "--quiet", "--detach")
			w.git(w.repo, "worktree", "lock", "--reason", "mine", tree.Path)
		},
	} {
		tree := w.create(name)
		work(tree)
		w.write(tree.Path, "a.txt", "mine")
		head := w.commit(tree.Path, "my work")
		testenv.Must(t, os.RemoveAll(tree.Path))
		var kept *worktree.KeptError
		if err := w.store.Remove(t.Context(), tree); !errors.As(err, &kept) || !strings.Contains(err.Error(), "1 unpushed commit") || !strings.Contains(err.Error(), "its directory is gone") {
			t.Errorf("%s: %v", name, err)
		}
		if again := w.create(name); again != tree {
			t.Errorf("%s: %+v", name, again)
		}
		if s := w.status(tree); s.Head != head || s.Branch != "" || len(s.Changed)+len(s.Untracked) > 0 {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

func TestRepositoryGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "repo")
	tree := w.create("bob")
	testenv.Must(t, os.RemoveAll(w.repo))
	w.kept(w.store.Remove(t.Context(), tree))
	testenv.Must(t, os.RemoveAll(tree.Path))
	w.removed(tree)
	if rs, err := w.store.List(); err != nil || len(rs) != 0 {
		t.Errorf("%v, %v", rs, err)
	}
}

// TestSubmodules: a worktree whose submodules hold no work is removed; work in one is not lost, committed or not,
// on whichever branch it is.
func TestSubmodules(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	deep, lib, w := newWorld(t, "deep"), newWorld(t, "lib"), newWorld(t, "repo")
	add := []string{"-c", "protocol.file.allow=always", "submodule", "--quiet"}
	lib.git(lib.repo, append(add, "add", deep.repo, "deep")...)
	lib.commit(lib.repo, "deep")
	lib.git(lib.repo, "branch", "other", "HEAD~1")
	w.git(w.repo, append(add, "add", lib.repo, "lib")...)
	w.commit(w.repo, "lib")

	plain := w.create("plain") // a submodule that was never fetched
	w.removed(plain)
	mine := func(dir string) {
		w.write(dir, "a.txt", "mine")
		w.commit(dir, "mine")
	}
	left := func(dir string) { // its commits, on a branch that is checked out nowhere
		w.git(dir, "checkout", "--quiet", "-b", "side")
		mine(dir)
		w.git(dir, "checkout", "--quiet", "--detach", "HEAD~1")
	}
	top := func(dir string) string { return filepath.Dir(dir) }
	for name, c := range map[string]struct {
		work func(dir string)
		says string // "": it is removed
	}{
		"nothing":                           {func(string) {}, ""},
		"ignored":                           {func(dir string) { w.write(dir, "a.o", "x") }, ""},
		"edited":                            {func(dir string) { w.write(dir, "a.txt", "mine") }, "1 uncommitted file"},
		"untracked":                         {func(dir string) { w.write(dir, "new.txt", "mine") }, "1 uncommitted file"},
		"committed":                         {mine, "1 uncommitted file, 1 unpushed commit in a submodule"},
		"on a branch":                       {left, "1 unpushed commit in a submodule"},
		"in the submodule of the submodule": {func(dir string) { left(filepath.Join(dir, "deep")) }, "1 unpushed commit in a submodule"},
		"stashed": {func(dir string) {
			w.write(dir, "a.txt", "mine")
			w.git(dir, "stash", "push", "--quiet")
		}, "unpushed commits in submodules"},
		"hidden": {func(dir string) {
			w.git(dir, "update-index", "--assume-unchanged", "a.txt")
			w.write(dir, "a.txt", "mine")
		}, "1 uncommitted file"},
		"not checked out any more": {func(dir string) {
			left(dir)
			w.git(top(dir), "submodule", "--quiet", "deinit", "--force", "lib")
		}, "1 unpushed commit in a submodule"},
		"its directory is gone, and nothing was in it": {func(dir string) {
			if err := os.RemoveAll(top(dir)); err != nil {
				t.Error(err)
			}
		}, ""},
		"its directory is gone": {func(dir string) {
			left(dir)
			if err := os.RemoveAll(top(dir)); err != nil {
				t.Error(err)
			}
		}, "1 unpushed commit in a submodule, its directory is gone"},
		"pushed": {func(dir string) {
			mine(dir)
			w.git(dir, "push", "--quiet", "origin", "HEAD:refs/heads/pushed")
			w.git(top(dir), "checkout", "--quiet", "--", ".")
			w.git(top(dir), append(add, "update", "--force")...)
		}, ""},
	} {
		tree := w.create(name)
		w.git(tree.Path, append(add, "update", "--init", "--recursive")...)
		c.work(filepath.Join(tree.Path, "lib"))
		err := w.store.Remove(t.Context(), tree)
		var kept *worktree.KeptError
		switch {
		case c.says == "":
			if w.gone(tree.Path); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		case !errors.As(err, &kept) || !strings.Contains(err.Error(), c.says):
			t.Errorf("%s: %v", name, err)
		}
		if name == "its directory is gone" { // a session that goes on there has what is left
			if again := w.create(name); again != tree {
				t.Errorf("%+v, want %+v", again, tree)
			}
			w.git(tree.Path, append(add, "update")...)
			w.git(filepath.Join(tree.Path, "lib"), "rev-parse", "--verify", "side")
		}
	}
	// The branch is merged, the submodule's commit that it names is nowhere else.
	merged := w.create("merged")
	w.git(merged.Path, append(add, "update", "--init")...)
	mine(filepath.Join(merged.Path, "lib"))
	w.commit(merged.Path, "take it")
	w.git(w.repo, "merge", "--quiet", merged.Branch)
	w.kept(w.store.RemoveMerged(t.Context(), merged, worktree.Tip{Commit: w.git(merged.Path, "rev-parse", "HEAD")}), "1 unpushed commit in a submodule")
	// A member that works in the submodule has a worktree of that.
	tree, _, err := w.store.Create(t.Context(), worktree.Want{Team: "api", Member: "sub", Owner: "s", Cwd: filepath.Join(w.repo, "lib")})
	testenv.Must(t, err)
	if _, err := worktree.Verify(t.Context(), w.env, tree.Path, tree, true); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(tree.Path, "a.txt")); err != nil {
		t.Error(err)
	}
	w.removed(tree)
}

// TestSparse: files outside of a sparse checkout that a member made are kept.
func TestSparse(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "repo")
	tree := w.create("bob")
	w.git(tree.Path, "sparse-checkout", "set", "--no-cone", "/a.txt")
	w.gone(filepath.Join(tree.Path, "sub", "b.txt"))
	if s := w.status(tree); !s.Clean() {
		t.Errorf("%+v", s)
	}
	w.write(tree.Path, "sub/b.txt", "mine")
	w.kept(w.store.Remove(t.Context(), tree))
	testenv.Must(t, os.RemoveAll(filepath.Join(tree.Path, "sub")))
	w.removed(tree)
	w.quiet()
}
