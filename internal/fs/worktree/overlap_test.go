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

// beside is a case of what a person has in a checkout beside which a merge is made. The member changes
// a.txt, makes new.txt and dir/new.txt, deletes sub/b.txt and renames name.txt to renamed.txt.
type beside struct {
	name    string
	do      func(w *world)
	refuses []string // the files that are named; nil: it merges
	files   int      // that are untouched
}

func besides() []beside {
	must := func(w *world, err error) {
		w.t.Helper()
		testenv.Must(w.t, err)
	}
	return []beside{
		{"a changed, a staged, a deleted and an untracked file", func(w *world) {
			w.write(w.repo, "mine.txt", "changed\n")
			w.write(w.repo, "staged.txt", "staged\n")
			w.git(w.repo, "add", "staged.txt")
			w.write(w.repo, "staged.txt", "staged, and changed again\n")
			must(w, os.Remove(filepath.Join(w.repo, "gone.txt")))
			w.write(w.repo, "untracked.txt", "u\n")
			w.write(w.repo, "x.o", "ignored\n")
			w.write(w.repo, "dir/mine.txt", "beside the new one\n")
			w.write(w.repo, "sub/mine.txt", "beside the deleted one\n")
		}, nil, 6},
		{"a staged rename, deletion and mode, and one that is only to be added", func(w *world) {
			w.git(w.repo, "mv", "mine.txt", "other.txt")
			w.git(w.repo, "rm", "--quiet", "gone.txt")
			must(w, os.Chmod(filepath.Join(w.repo, "staged.txt"), 0o755))
			w.write(w.repo, "later.txt", "l\n")
			w.git(w.repo, "add", "--intent-to-add", "later.txt")
		}, nil, 5},
		{"changed", func(w *world) { w.write(w.repo, "a.txt", "mine\n") }, []string{"a.txt"}, 0},
		{"staged", func(w *world) {
			w.write(w.repo, "a.txt", "mine\n")
			w.git(w.repo, "add", "a.txt")
			w.write(w.repo, "a.txt", "a\n") // the file itself is as it was
		}, []string{"a.txt"}, 0},
		{"deleted here, changed there", func(w *world) { must(w, os.Remove(filepath.Join(w.repo, "a.txt"))) }, []string{"a.txt"}, 0},
		{"changed here, deleted there", func(w *world) { w.write(w.repo, "sub/b.txt", "mine\n") }, []string{"sub/b.txt"}, 0},
		{"the old name of a rename", func(w *world) { w.write(w.repo, "name.txt", "mine\n") }, []string{"name.txt"}, 0},
		{"the new name of a rename", func(w *world) { w.write(w.repo, "renamed.txt", "mine\n") }, []string{"renamed.txt"}, 0},
		{"untracked", func(w *world) { w.write(w.repo, "new.txt", "mine\n") }, []string{"new.txt"}, 0},
		{"only to be added", func(w *world) {
			w.write(w.repo, "new.txt", "mine\n")
			w.git(w.repo, "add", "--intent-to-add", "new.txt")
		}, []string{"new.txt"}, 0},
		{"ignored", func(w *world) { w.write(w.repo, "new.o", "mine\n") }, []string{"new.o"}, 0},
		{"a file for a directory", func(w *world) { w.write(w.repo, "dir", "mine\n") }, []string{"dir"}, 0},
		{"a directory for a file", func(w *world) { w.write(w.repo, "new.txt/mine.o", "mine\n") }, []string{"new.txt/mine.o"}, 0},
		{"mode", func(w *world) { must(w, os.Chmod(filepath.Join(w.repo, "a.txt"), 0o755)) }, []string{"a.txt"}, 0},
		{"two of them", func(w *world) {
			w.write(w.repo, "a.txt", "mine\n")
			w.write(w.repo, "new.txt", "mine\n")
			w.write(w.repo, "mine.txt", "free\n")
		}, []string{"a.txt", "new.txt"}, 0},
	}
}

// TestMergeBeside: a merge leaves what a person has not committed as it is, and refuses where it would change that.
func TestMergeBeside(t *testing.T) {
	t.Parallel()
	for _, c := range testenv.Rows(t, besides(), 5) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w, tree := mergeWorld(t)
			c.do(w)
			main, before := w.git(w.repo, "rev-parse", "main"), w.persons()
			m, err := w.merge(tree, worktree.HowMerge)
			if c.refuses != nil {
				var dirty *worktree.DirtyError
				if !errors.As(err, &dirty) || !slices.Equal(dirty.Files, c.refuses) || dirty.Path != w.repo {
					t.Fatalf("%v", err)
				}
				w.prints(main, w.repo, "rev-parse", "main")
				w.samePersons(before)
				return
			}
			if err != nil || !m.Changed || m.Before != main || m.Untouched != c.files {
				t.Fatalf("%+v, %v", m, err)
			}
			w.samePersons(before)
			w.merged()
		})
	}
}

// mergeWorld is a repository and a worktree with work that changes, makes, deletes and renames files.
func mergeWorld(t *testing.T) (*world, worktree.Tree) {
	t.Helper()
	w := newWorld(t, "repo")
	for _, f := range []string{"mine.txt", "staged.txt", "gone.txt", "name.txt"} {
		w.write(w.repo, f, "of "+f+"\n")
	}
	w.commit(w.repo, "more")
	tree := w.create("bob")
	w.work(tree)
	return w, tree
}

// work is what the member did.
func (w *world) work(tree worktree.Tree) {
	w.t.Helper()
	w.write(tree.Path, "a.txt", "bob\n")
	w.write(tree.Path, "dir/new.txt", "d\n")
	w.git(tree.Path, "mv", "name.txt", "renamed.txt")
	w.git(tree.Path, "rm", "--quiet", "sub/b.txt")
	w.write(tree.Path, "new.o", "o\n")
	w.git(tree.Path, "add", "--force", "new.o")
	w.commit(tree.Path, "first of bob")
	w.write(tree.Path, "new.txt", "n\n")
}

// merged checks that the target and its checkout have the work.
func (w *world) merged() {
	w.t.Helper()
	for name, want := range map[string]string{"a.txt": "bob", "new.txt": "n", "dir/new.txt": "d", "renamed.txt": "of name.txt", "new.o": "o"} {
		if got := w.git(w.repo, "show", "main:"+name); got != want {
			w.t.Errorf("main has %s: %q", name, got)
		}
		if b, err := os.ReadFile(filepath.Join(w.repo, name)); strings.TrimSpace(string(b)) != want {
			w.t.Errorf("the checkout has %s: %q, %v", name, b, err)
		}
	}
	for _, name := range []string{"sub/b.txt", "name.txt"} {
		if _, err := w.try(w.repo, "rev-parse", "--verify", "--quiet", "main:"+name); err == nil {
			w.t.Errorf("main has %s", name)
		}
		w.gone(filepath.Join(w.repo, name))
	}
}

// persons is what the person has in the checkout that is in no commit: by git, and byte for byte.
func (w *world) persons() string {
	w.t.Helper()
	var all strings.Builder
	all.WriteString(w.git(w.repo, "status", "--porcelain=v2", "--untracked-files=all", "--ignored=matching", "--no-renames") + "\n")
	all.WriteString(w.git(w.repo, "diff", "--cached", "--no-renames") + "\n")
	all.WriteString(w.git(w.repo, "diff", "--no-renames") + "\n")
	for _, f := range strings.Split(w.git(w.repo, "ls-files", "--others", "-z"), "\x00") {
		if f == "" {
			continue
		}
		b, err := os.ReadFile(filepath.Join(w.repo, f))
		if err != nil {
			w.t.Error(err)
		}
		all.WriteString(f + ": " + string(b))
	}
	return all.String()
}

// samePersons checks that what a person has there is as before.
func (w *world) samePersons(before string) {
	w.t.Helper()
	if after := w.persons(); after != before {
		w.t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

// TestMergeSubmodule: the pointer of a submodule moves, its files do not; one that the person has
// moved is refused.
func TestMergeSubmodule(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "repo")
	lib := newWorld(t, "lib")
	allow := []string{"-c", "protocol.file.allow=always"}
	w.git(w.repo, append(allow, "submodule", "--quiet", "add", lib.repo, "lib")...)
	w.commit(w.repo, "with lib")
	lib.write(lib.repo, "a.txt", "newer\n")
	newer := lib.commit(lib.repo, "newer")
	tree := w.create("bob")
	w.git(tree.Path, append(allow, "submodule", "--quiet", "update", "--init")...)
	w.git(filepath.Join(tree.Path, "lib"), append(allow, "fetch", "--quiet")...)
	w.git(filepath.Join(tree.Path, "lib"), "checkout", "--quiet", newer)
	w.write(w.repo, "lib/mine.txt", "in the submodule\n")
	var dirty *worktree.DirtyError
	if _, err := w.merge(tree, worktree.HowMerge); !errors.As(err, &dirty) || !slices.Equal(dirty.Files, []string{"lib"}) {
		t.Errorf("%v", err)
	}
	testenv.Must(t, os.Remove(filepath.Join(w.repo, "lib", "mine.txt")))
	if m, err := w.merge(tree, worktree.HowMerge); err != nil || !m.Changed {
		t.Fatalf("%+v, %v", m, err)
	}
	w.prints(newer, w.repo, "rev-parse", "main:lib")
	w.holds(filepath.Join(w.repo, "lib", "a.txt"), "a\n")
}

// TestMergeCheckouts: a target that several checkouts are on moves in all of them, or in none.
func TestMergeCheckouts(t *testing.T) {
	t.Parallel()
	w, tree := mergeWorld(t)
	second := filepath.Join(filepath.Dir(w.repo), "second")
	w.git(w.repo, "worktree", "add", "--quiet", "--force", second, "main")
	w.write(second, "a.txt", "mine\n")
	var dirty *worktree.DirtyError
	if _, err := w.merge(tree, worktree.HowMerge); !errors.As(err, &dirty) || dirty.Path != second {
		t.Errorf("%v", err)
	}
	w.git(second, "checkout", "--quiet", "--", ".")
	w.write(second, "mine.txt", "mine\n")
	m, err := w.merge(tree, worktree.HowMerge)
	if err != nil || !m.Changed || m.Untouched != 1 {
		t.Fatalf("%+v, %v", m, err)
	}
	w.merged()
	w.prints("M mine.txt", second, "status", "--porcelain")
	w.prints("", w.repo, "status", "--porcelain")
}

// TestMergeLocked: another git in the checkout is waited for, and a lock that stays is named; a hook after the merge
// runs, and its failure changes nothing.
func TestMergeLocked(t *testing.T) {
	t.Parallel()
	w, tree := mergeWorld(t)
	lock := filepath.Join(w.repo, ".git", "index.lock")
	w.write(filepath.Dir(lock), "index.lock", "")
	var busy *worktree.BusyError
	if _, err := w.store.Merge(context.Background(), merging(tree, worktree.HowMerge)); !errors.As(err, &busy) || !strings.Contains(err.Error(), lock) {
		t.Errorf("%v", err)
	}
	if b, err := os.ReadFile(lock); err != nil || len(b) > 0 {
		t.Errorf("the lock of another git: %q, %v", b, err)
	}
	testenv.Must(t, os.Remove(lock))
	w.hook("post-merge", "exit 1\n")
	m, err := w.merge(tree, worktree.HowMerge)
	if err != nil || !slices.Contains(m.Hooks, "post-merge") {
		t.Errorf("%+v, %v", m, err)
	}
	w.merged()
}
