package worktree_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/testenv"
	"waggle/internal/worktree"
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
			if err := w.store.Remove(t.Context(), tree); err != nil {
				t.Fatal(err)
			}
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
	if err != nil {
		w.t.Fatal(err)
	}
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
	if err := w.store.Remove(t.Context(), tree); err != nil {
		t.Fatal(err)
	}
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

func TestRepositoryGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "repo")
	tree := w.create("bob")
	if err := os.RemoveAll(w.repo); err != nil {
		t.Fatal(err)
	}
	var kept *worktree.KeptError
	if err := w.store.Remove(t.Context(), tree); !errors.As(err, &kept) {
		t.Errorf("%v", err)
	}
	if err := os.RemoveAll(tree.Path); err != nil {
		t.Fatal(err)
	}
	if err := w.store.Remove(t.Context(), tree); err != nil {
		t.Error(err)
	}
	if rs, err := w.store.List(); err != nil || len(rs) != 0 {
		t.Errorf("%v, %v", rs, err)
	}
}

// TestSubmodules: work in a submodule of a worktree is not lost, committed or not.
func TestSubmodules(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	lib, w := newWorld(t, "lib"), newWorld(t, "repo")
	add := []string{"-c", "protocol.file.allow=always", "submodule", "--quiet"}
	w.git(w.repo, append(add, "add", lib.repo, "lib")...)
	w.commit(w.repo, "lib")

	plain := w.create("plain") // a submodule that was never fetched
	if err := w.store.Remove(t.Context(), plain); err != nil {
		t.Error(err)
	}
	for name, work := range map[string]func(dir string){
		"nothing":   func(string) {},
		"edited":    func(dir string) { w.write(dir, "a.txt", "mine") },
		"untracked": func(dir string) { w.write(dir, "new.txt", "mine") },
		"committed": func(dir string) {
			w.write(dir, "a.txt", "mine")
			w.commit(dir, "mine")
		},
	} {
		tree := w.create(name)
		w.git(tree.Path, append(add, "update", "--init")...)
		work(filepath.Join(tree.Path, "lib"))
		var kept *worktree.KeptError
		if err := w.store.Remove(t.Context(), tree); !errors.As(err, &kept) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(filepath.Join(tree.Path, "lib", "a.txt")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A member that works in the submodule has a worktree of that.
	tree, _, err := w.store.Create(t.Context(), worktree.Want{Team: "api", Member: "sub", Owner: "s", Cwd: filepath.Join(w.repo, "lib")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := worktree.Verify(t.Context(), w.env, tree.Path, tree, true); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(tree.Path, "a.txt")); err != nil {
		t.Error(err)
	}
	if err := w.store.Remove(t.Context(), tree); err != nil {
		t.Error(err)
	}
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
	var kept *worktree.KeptError
	if err := w.store.Remove(t.Context(), tree); !errors.As(err, &kept) {
		t.Errorf("%v", err)
	}
	if err := os.RemoveAll(filepath.Join(tree.Path, "sub")); err != nil {
		t.Fatal(err)
	}
	if err := w.store.Remove(t.Context(), tree); err != nil {
		t.Error(err)
	}
	w.quiet()
}
