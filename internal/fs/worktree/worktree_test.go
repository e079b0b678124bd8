package worktree_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"waggle/internal/fs/worktree"
	"waggle/internal/test/testenv"
	_ "waggle/internal/test/testenv/seeded"
)

func TestCreate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "re po\nline")
	base := w.git(w.repo, "rev-parse", "HEAD")
	tree, cwd, err := w.store.Create(t.Context(), worktree.Want{Team: "api", Member: "bob", Owner: "1", Cwd: filepath.Join(w.repo, "sub")})
	testenv.Must(t, err)
	want := worktree.Tree{Path: filepath.Join(w.store.Dir, "bob"), Branch: "waggle/api/bob", Base: base, From: "main", Repo: w.repo, Common: filepath.Join(w.repo, ".git")}
	if d := cmp.Diff(want, tree); d != "" {
		t.Error(d)
	}
	if cwd != filepath.Join(tree.Path, "sub") {
		t.Errorf("cwd %q", cwd)
	}
	if fi, err := os.Stat(tree.Path); err != nil || fi.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, %v", fi.Mode(), err)
	}
	e, err := worktree.Verify(t.Context(), w.env, cwd, tree, true)
	if err != nil || e.Top != tree.Path || e.Branch != tree.Branch {
		t.Errorf("%+v, %v", e, err)
	}
	if s := w.status(tree); !s.Clean() || s.Head != base || s.String() != "clean" {
		t.Errorf("%+v", s)
	}
	again, cwd2, err := w.store.Create(t.Context(), worktree.Want{Team: "api", Member: "bob", Owner: "1", Cwd: filepath.Join(w.repo, "sub")})
	if err != nil || again != tree || cwd2 != cwd {
		t.Errorf("again: %+v, %v", again, err)
	}
	w.prints("", w.repo, "status", "--porcelain")
	testenv.Must(t, w.store.Remove(t.Context(), tree))
	w.quiet()
}

// TestNamesTaken makes worktrees beside a branch, a worktree and a directory that are
// there already: none is touched.
func TestNamesTaken(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "repo")
	w.git(w.repo, "branch", "waggle/api/bob")
	if tree := w.create("bob"); tree.Branch != "waggle/api/bob-2" || filepath.Base(tree.Path) != "bob-2" {
		t.Errorf("%+v", tree)
	}
	second, _, err := w.store.Create(t.Context(), worktree.Want{Team: "api", Member: "bob", Owner: "another", Cwd: w.repo})
	if err != nil || second.Branch != "waggle/api/bob-3" {
		t.Errorf("%+v, %v", second, err)
	}
	if tree := w.create("bob-2"); tree.Branch != "waggle/api/bob-2-2" {
		t.Errorf("%+v", tree)
	}
	mine := filepath.Join(w.store.Dir, "ann")
	w.write(mine, "precious", "x")
	var there *worktree.ExistsError
	if _, _, err := w.store.Create(t.Context(), worktree.Want{Team: "api", Member: "ann", Owner: "1", Cwd: w.repo}); !errors.As(err, &there) || there.Path != mine {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(mine, "precious")); err != nil {
		t.Error(err)
	}
	late := filepath.Join(w.store.Dir, "max") // made by another program after Create's check
	_, _, err = w.store.Stop(func(step string) {
		if step == "recorded" {
			w.write(late, "precious", "x")
		}
	}).Create(t.Context(), worktree.Want{Team: "api", Member: "max", Owner: "1", Cwd: w.repo})
	if !errors.As(err, &there) || there.Path != late {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(late, "precious")); err != nil {
		t.Error(err)
	}
}

// TestBranchInTheWay makes worktrees where a branch is above or below the usual name of theirs, in the repository
// or in what it has of a remote: git keeps a branch as a file, and cannot have another one in it.
func TestBranchInTheWay(t *testing.T) {
	t.Parallel()
	cell, first, step := -1, 0, 1
	if !testenv.Full() {
		first, step = testenv.Sample(t, 5)
	}
	for _, c := range []struct{ ref, branch, way string }{
		{"refs/heads/main-2", "waggle/api/bob", ""},
		{"refs/heads/waggle", "waggle-api/bob", "waggle"},
		{"refs/heads/Waggle", "waggle-api/bob", "Waggle"},
		{"refs/heads/waggle/api", "waggle-api/bob", "waggle/api"},
		{"refs/heads/waggle/api/bob", "waggle/api/bob-2", "waggle/api/bob"},
		{"refs/heads/waggle/API/Bob", "waggle/api/bob-2", "waggle/API/Bob"},
		{"refs/heads/waggle/api/bob/old", "waggle/api/bob-2", "waggle/api/bob/old"},
		{"refs/heads/waggle/api-2/bob", "waggle/api/bob", ""},
		{"refs/heads/waggle refs/heads/waggle-api", "waggle-api-bob", "waggle"},
		{"refs/heads/waggle refs/heads/waggle-api refs/heads/waggle-api-bob/x", "waggle-api-bob-2", "waggle"},
		{"refs/remotes/origin/waggle", "waggle-api/bob", "origin/waggle"},
		{"refs/remotes/origin/waggle/api/bob", "waggle/api/bob-2", "origin/waggle/api/bob"},
		{"refs/remotes/origin/waggle/api/bob/old/er", "waggle/api/bob-2", "origin/waggle/api/bob/old/er"},
	} {
		for _, own := range []bool{false, true} {
			if cell++; cell%step != first {
				continue
			}
			w := newWorld(t, "repo")
			for ref := range strings.FieldsSeq(c.ref) {
				w.git(w.repo, "update-ref", ref, "HEAD")
			}
			want := worktree.Want{Team: "api", Member: "bob", Owner: "1", Cwd: w.repo, Own: own}
			planned, err := w.store.Planned(t.Context(), want)
			tree, _, cerr := w.store.Create(t.Context(), want)
			if err != nil || cerr != nil || planned.Branch != c.branch || tree.Branch != c.branch {
				t.Errorf("%s: planned %s, made %s, %v, %v", c.ref, planned.Branch, tree.Branch, err, cerr)
				continue
			}
			if _, err := worktree.Verify(t.Context(), w.env, tree.Path, tree, true); err != nil {
				t.Errorf("%s: %v", c.ref, err)
			}
			if way, err := w.store.Git.InTheWay(t.Context(), tree, "api", "bob"); err != nil || way != c.way {
				t.Errorf("%s: in the way is %q, not %q, %v", c.ref, way, c.way, err)
			}
			if err := w.store.Remove(t.Context(), tree); err != nil {
				t.Errorf("%s: %v", c.ref, err)
			}
			if _, err := w.try(w.repo, "rev-parse", "--verify", "--quiet", "refs/heads/"+c.branch); err == nil {
				t.Errorf("%s: branch %s is there after its worktree", c.ref, c.branch)
			}
			for ref := range strings.FieldsSeq(c.ref) {
				w.git(w.repo, "rev-parse", "--verify", "--quiet", ref)
			}
		}
	}
}

func TestCreateRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "repo")
	dir := filepath.Dir(w.repo)
	plain, bare, empty := filepath.Join(dir, "plain"), filepath.Join(dir, "bare"), filepath.Join(dir, "empty")
	for _, d := range []string{plain, bare, empty} {
		testenv.Must(t, os.Mkdir(d, 0o755))
	}
	w.git(bare, "init", "--quiet", "--bare")
	w.git(empty, "init", "--quiet")
	none, inside := w.store, w.store
	none.Git, inside.Dir = worktree.Git{}, filepath.Join(w.repo, "trees")
	for _, c := range []struct {
		name  string
		store worktree.Store
		cwd   string
		want  error
	}{
		{"no repository", w.store, plain, worktree.ErrNotRepository},
		{"a git directory", w.store, filepath.Join(w.repo, ".git"), worktree.ErrNotRepository},
		{"bare", w.store, bare, worktree.ErrBare},
		{"no commit", w.store, empty, worktree.ErrNoCommit},
		{"no git", none, w.repo, worktree.ErrNoGit},
		{"inside", inside, w.repo, worktree.ErrInside},
		{"no directory", w.store, filepath.Join(dir, "nowhere"), os.ErrNotExist},
	} {
		_, _, err := c.store.Create(t.Context(), worktree.Want{Team: "api", Member: "bob", Owner: "1", Cwd: c.cwd})
		if !errors.Is(err, c.want) && !(c.name == "a git directory" && errors.Is(err, worktree.ErrBare)) { // git differs
			t.Errorf("%s: %v", c.name, err)
		}
	}
	w.quiet()
	if _, err := worktree.Find([]string{"PATH=" + plain}); !errors.Is(err, worktree.ErrNoGit) {
		t.Errorf("%v", err)
	}
}

// TestFailedHook: a post-checkout hook that fails, with words or without, does not undo what git has made: its words
// are kept. A worktree that git could not make has none.
func TestFailedHook(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "repo")
	for owner, script := range map[string]string{"not today": "echo not today >&2; exit 1\n", "exit status 3": "echo generated >new.txt; exit 3\n"} {
		w.hook("post-checkout", script)
		tree, cwd, err := w.store.Create(t.Context(), worktree.Want{Team: "api", Member: "bob", Owner: owner, Cwd: w.repo})
		testenv.Must(t, err)
		if _, said, err := w.store.Prepared(tree); err != nil || said != owner || cwd != tree.Path {
			t.Errorf("%s: %q, %v", owner, said, err)
		}
		testenv.Must(t, os.RemoveAll(tree.Path))
		if err := w.store.Restore(t.Context(), tree); err != nil {
			t.Error(err)
		}
	}
	w.hook("post-checkout", "exit 0\n")
	w.git(w.repo, "config", "filter.none.smudge", "false")
	w.git(w.repo, "config", "filter.none.required", "true")
	w.write(w.repo, ".gitattributes", "*.bin filter=none\n")
	w.write(w.repo, "a.bin", "x")
	w.git(w.repo, "config", "filter.none.clean", "cat")
	w.commit(w.repo, "filtered")
	if tree, _, err := w.store.Create(t.Context(), worktree.Want{Team: "api", Member: "cid", Owner: "cid", Cwd: w.repo}); err == nil {
		t.Errorf("%+v is made without its files", tree)
	}
}

// TestFromWorktree makes a worktree of a worktree, as a person has it who works in one.
func TestFromWorktree(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "repo")
	mine := filepath.Join(filepath.Dir(w.repo), "mine")
	w.git(w.repo, "worktree", "add", "--quiet", "-b", "topic", mine)
	w.write(mine, "topic.txt", "x")
	tip := w.commit(mine, "topic")
	tree, cwd, err := w.store.Create(t.Context(), worktree.Want{Team: "api", Member: "bob", Owner: "1", Cwd: filepath.Join(mine, "sub")})
	testenv.Must(t, err)
	if tree.Base != tip || tree.From != "topic" || tree.Repo != mine || tree.Common != filepath.Join(w.repo, ".git") || cwd != filepath.Join(tree.Path, "sub") {
		t.Errorf("%+v", tree)
	}
	w.git(w.repo, "worktree", "remove", mine)
	w.git(w.repo, "branch", "--quiet", "-D", "topic")
	if s := w.status(tree); !s.Clean() {
		t.Errorf("%s", s)
	}
	if files, _, err := w.store.Git.Changed(t.Context(), tree, 10); err != nil || len(files) > 0 {
		t.Errorf("%q, %v", files, err)
	}
	w.removed(tree)
	w.quiet()
}

// TestFullDisk has git fail as on a full disk: that is reported, and nothing is left.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "repo")
	fake := filepath.Join(t.TempDir(), "git")
	script := fmt.Sprintf("#!/bin/sh\nfor a; do [ \"$a\" = add ] && { '%s' \"$@\"; echo 'fatal: write error: No space left on device' >&2; exit 128; }; done\nexec '%s' \"$@\"\n",
		w.store.Git.Program, w.store.Git.Program)
	testenv.Must(t, testenv.Executable(fake, []byte(script)))
	s := w.store
	s.Git.Program = fake
	if _, _, err := s.Create(t.Context(), worktree.Want{Team: "api", Member: "bob", Owner: "1", Cwd: w.repo}); !errors.Is(err, worktree.ErrNoSpace) {
		t.Errorf("%v", err)
	}
	w.quiet()
}

// TestRedirected runs everything with the variables that a git hook has: they would
// send git to the main checkout.
func TestRedirected(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "repo")
	hooked := append(slices.Clone(w.env), "GIT_DIR="+filepath.Join(w.repo, ".git"), "GIT_INDEX_FILE="+filepath.Join(w.repo, ".git", "index"), "GIT_WORK_TREE="+w.repo, "GIT_PREFIX=sub/")
	w.store.Git.Environ = hooked
	tree := w.create("bob")
	w.write(tree.Path, "new.txt", "x")
	if s := w.status(tree); !cmp.Equal(s.Untracked, []string{"new.txt"}) || len(s.Changed) > 0 {
		t.Errorf("%+v", s)
	}
	var wrong *worktree.MismatchError
	if _, err := worktree.Verify(t.Context(), hooked, tree.Path, tree, true); !errors.As(err, &wrong) || !strings.Contains(err.Error(), "GIT_DIR") {
		t.Errorf("a worker whose git goes elsewhere: %v", err)
	}
	if _, err := worktree.Verify(t.Context(), worktree.Environ(hooked), tree.Path, tree, true); err != nil {
		t.Error(err)
	}
}

// TestVerifyFailsClosed forces a worker into directories that are not its worktree.
func TestVerifyFailsClosed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "repo")
	bob, ann := w.create("bob"), w.create("ann")
	other := newWorld(t, "other")
	noGit := append(slices.DeleteFunc(slices.Clone(w.env), func(v string) bool { return strings.HasPrefix(v, "PATH=") }), "PATH="+t.TempDir())
	link := filepath.Join(t.TempDir(), "link")
	testenv.Must(t, os.Symlink(bob.Path, link))
	for _, c := range []struct {
		name string
		env  []string
		dir  string
		ok   bool
	}{
		{"its own", w.env, bob.Path, true},
		{"a directory in it", w.env, filepath.Join(bob.Path, "sub"), true},
		{"through a link", w.env, link, true},
		{"the main checkout", w.env, w.repo, false},
		{"below the main checkout", w.env, filepath.Join(w.repo, "sub"), false},
		{"another member's", w.env, ann.Path, false},
		{"another repository", w.env, other.repo, false},
		{"no repository", w.env, t.TempDir(), false},
		{"no directory", w.env, filepath.Join(bob.Path, "nowhere"), false},
		{"no git", noGit, bob.Path, false},
	} {
		if _, err := worktree.Verify(t.Context(), c.env, c.dir, bob, true); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	w.git(bob.Path, "checkout", "--quiet", "-b", "elsewhere")
	if _, err := worktree.Verify(t.Context(), w.env, bob.Path, bob, true); err == nil {
		t.Error("another branch before any work")
	}
	if e, err := worktree.Verify(t.Context(), w.env, bob.Path, bob, false); err != nil || e.Branch != "elsewhere" {
		t.Errorf("another branch after some work: %+v, %v", e, err)
	}
}

// TestConcurrent has eight members commit in one repository at once: each commit is on its member's
// branch only (need 24).
func TestConcurrent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "repo")
	members, commits := testenv.Scale(4, 8), testenv.Scale(3, 5)
	var wg sync.WaitGroup
	trees := make([]worktree.Tree, members)
	for i := range members {
		wg.Go(func() {
			name := fmt.Sprintf("m%d", i)
			tree, _, err := w.store.Create(t.Context(), worktree.Want{Team: "api", Member: name, Owner: name, Cwd: w.repo})
			if err != nil {
				t.Error(err)
				return
			}
			trees[i] = tree
			for n := range commits {
				if err := os.WriteFile(filepath.Join(tree.Path, "a.txt"), fmt.Appendf(nil, "%s %d\n", name, n), 0o644); err != nil {
					t.Error(err)
				}
				if out, err := w.try(tree.Path, "commit", "--quiet", "--all", "--message", fmt.Sprintf("%s %d", name, n)); err != nil {
					t.Errorf("%v: %s", err, out)
				}
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	for i, tree := range trees {
		var want []string
		for n := range commits {
			want = append(want, fmt.Sprintf("m%d %d", i, commits-1-n))
		}
		got := strings.Split(w.git(w.repo, "log", "--format=%s", "main.."+tree.Branch), "\n")
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s:\n%s", tree.Branch, d)
		}
		var kept *worktree.KeptError
		if err := w.store.Remove(t.Context(), tree); !errors.As(err, &kept) || len(kept.Status.Commits) != commits {
			t.Errorf("%s: %v", tree.Branch, err)
		}
	}
	w.prints("", w.repo, "status", "--porcelain")
	w.git(w.repo, "fsck", "--no-dangling")
}

// TestNames: names of members become branches and directories, different ones for
// different names.
func TestNames(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	w := newWorld(t, "repo")
	name := rapid.OneOf(rapid.StringN(1, 200, 300), rapid.SampledFrom([]string{".", "..", "a.lock", "a..b", "@", "@{", "-x", "a/b", "a b", "ä", "A", "a", "=41", "\x00", "\n", "con", "refs/heads/x", "~^:?*[\\"}))
	seen := map[string]string{}
	rapid.Check(t, func(t *rapid.T) {
		n := name.Draw(t, "name")
		c := worktree.Component(n)
		if was, ok := seen[c]; ok && was != n {
			t.Fatalf("%q and %q are both %q", was, n, c)
		}
		seen[c] = n
		if filepath.Base(c) != c || c == "." || c == ".." || len(c) > 120 {
			t.Fatalf("%q is the directory %q", n, c)
		}
	})
	for n := range map[string]bool{"..": true, "a.lock": true, "@{": true, "-x": true, "a/b c": true, "~^:?*[\\": true, "\n": true, strings.Repeat("ä", 100): true} {
		branch := worktree.UsualBranch(n, n)
		if _, err := w.try(w.repo, "check-ref-format", "--branch", branch); err != nil {
			t.Errorf("%q: branch %q: %v", n, branch, err)
		}
		tree, _, err := w.store.Create(context.Background(), worktree.Want{Team: n, Member: n, Owner: n, Cwd: w.repo})
		if err != nil {
			t.Errorf("%q: %v", n, err)
			continue
		}
		if err := w.store.Remove(context.Background(), tree); err != nil {
			t.Errorf("%q: %v", n, err)
		}
	}
	w.quiet()
}
