//go:build unix

package worktree_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"waggle/internal/fs/worktree"
	"waggle/internal/test/testenv"
)

// own makes a checkout with a git directory of its own.
func (w *world) own(member string) worktree.Tree {
	w.t.Helper()
	tree, _, err := w.store.Create(w.t.Context(), worktree.Want{Team: "api", Member: member, Owner: "owner-" + member, Cwd: w.repo, Own: true})
	testenv.Must(w.t, err)
	return tree
}

func (w *world) fetch(t worktree.Tree) bool {
	w.t.Helper()
	moved, err := w.store.Git.Fetch(w.t.Context(), t)
	testenv.Must(w.t, err)
	return moved
}

// snapshot is everything in a directory: names, kinds and contents.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		text := e.Type().String()
		if e.Type().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += string(b)
		}
		all[path] = text
		return nil
	})
	testenv.Must(t, err)
	return all
}

// TestOwn: a member with a git directory of its own commits there, and its branch comes into the
// repository.
func TestOwn(t *testing.T) {
	w := newWorld(t, "repo")
	before := snapshot(t, filepath.Join(w.repo, ".git", "objects"))
	bob := w.own("bob")
	if bob.Branch != "waggle/api/bob" || w.git(w.repo, "rev-parse", bob.Branch) != bob.Base {
		t.Errorf("%+v", bob)
	}
	if s := w.status(bob); !s.Clean() || s.Head != bob.Base || s.Branch != bob.Branch {
		t.Errorf("new: %s, %+v", s, s)
	}
	if e, err := worktree.Verify(t.Context(), w.env, filepath.Join(bob.Path, "sub"), bob, true); err != nil || e.Branch != bob.Branch || e.Top != bob.Path {
		t.Errorf("%+v, %v", e, err)
	}
	if n := len(snapshot(t, filepath.Join(bob.Path, ".git", "objects"))); n > 10 {
		t.Errorf("%d files of objects: they were copied", n)
	}
	if after := snapshot(t, filepath.Join(w.repo, ".git", "objects")); len(after) != len(before) {
		t.Errorf("%d objects became %d", len(before), len(after))
	}
	if w.fetch(bob) {
		t.Error("a branch moved that nobody has committed to")
	}
	w.write(bob.Path, "new.txt", "x\n")
	w.write(bob.Path, "a.txt", "changed\n")
	if s := w.status(bob); s.Uncommitted() != 2 || len(s.Commits) != 0 {
		t.Errorf("edited: %s", s)
	}
	tip := w.commit(bob.Path, "work")
	if !w.fetch(bob) || w.git(w.repo, "rev-parse", bob.Branch) != tip || w.git(w.repo, "show", bob.Branch+":a.txt") != "changed" {
		t.Error("the commit did not come")
	}
	w.git(bob.Path, "gc", "--quiet") // packs, packed refs
	w.write(bob.Path, "more.txt", "y\n")
	w.commit(bob.Path, "more")
	w.git(bob.Path, "repack", "-a", "-d", "-l", "--quiet")
	w.git(bob.Path, "pack-refs", "--all")
	tip = w.git(bob.Path, "commit", "--quiet", "--amend", "--message", "rewritten") + w.git(bob.Path, "rev-parse", "HEAD")
	if !w.fetch(bob) || w.git(w.repo, "rev-parse", bob.Branch) != tip {
		t.Error("the rewritten commit did not come")
	}
	w.write(bob.Path, "loose", "z")
	s := w.status(bob)
	if len(s.Commits) != 2 || s.Uncommitted() != 1 || s.Clean() {
		t.Errorf("worked: %s, %+v", s, s)
	}
	files, more, err := w.store.Git.Changed(t.Context(), bob, 10)
	if want := []string{"a.txt", "loose", "more.txt", "new.txt"}; err != nil || more || fmt.Sprint(files) != fmt.Sprint(want) {
		t.Errorf("%q, %v, %v", files, more, err)
	}
	w.write(w.repo, "main.txt", "m")
	w.commit(w.repo, "on main") // the member sees it, read-only
	w.git(bob.Path, "fetch", "--quiet", "origin")
	if w.git(bob.Path, "rev-parse", "origin/main") != w.git(w.repo, "rev-parse", "main") {
		t.Error("the member does not see main")
	}
	if kept := w.kept(w.store.Remove(t.Context(), bob)); len(kept.Status.Commits) != 2 {
		t.Errorf("%+v", kept.Status)
	}
	w.git(w.repo, "fsck", "--strict")
}

// TestOwnIsRemoved: without work nothing of it stays; a removed directory is made again.
func TestOwnIsRemoved(t *testing.T) {
	w := newWorld(t, "repo")
	bob := w.own("bob")
	testenv.Must(t, os.RemoveAll(bob.Path))
	if again := w.own("bob"); again != bob {
		t.Errorf("%+v, want %+v", again, bob)
	}
	w.write(bob.Path, "x", "x")
	w.commit(bob.Path, "work")
	w.git(w.repo, "branch", "elsewhere")
	w.fetch(bob)
	w.git(w.repo, "merge", "--quiet", bob.Branch) // the branch that it came from has it
	testenv.Must(t, w.store.Remove(t.Context(), bob))
	w.gone(bob.Path)
	w.gone(bob.Mirror)
	w.git(w.repo, "branch", "--quiet", "--delete", "--force", bob.Branch) // it stays: it has a commit of its own
	w.quiet()
}

// TestOwnSubmodules: what a confined member has in a submodule is not looked at, and so not removed.
func TestOwnSubmodules(t *testing.T) {
	testenv.Long(t)
	lib, w := newWorld(t, "lib"), newWorld(t, "repo")
	add := []string{"-c", "protocol.file.allow=always", "submodule", "--quiet"}
	w.git(w.repo, append(add, "add", lib.repo, "lib")...)
	w.commit(w.repo, "lib")
	if err := w.store.Remove(t.Context(), w.own("ann")); err != nil { // it was never fetched
		t.Error(err)
	}
	bob := w.own("bob")
	w.git(bob.Path, append(add, "update", "--init")...)
	for _, says := range []string{"2 uncommitted files", "1 uncommitted file"} {
		w.kept(w.store.Remove(t.Context(), bob), says)
		w.git(bob.Path, "submodule", "--quiet", "deinit", "--force", "lib")
	}
	testenv.Must(t, os.RemoveAll(filepath.Join(bob.Path, ".git", "modules")))
	w.removed(bob)
}

// TestOwnKilled: the next call finishes or removes the remains of an interrupted Create or Remove.
func TestOwnKilled(t *testing.T) {
	testenv.Long(t)
	for _, at := range []string{"recorded", "directory", "mirror", "checkout", "added"} {
		w := newWorld(t, "repo")
		want := worktree.Want{Team: "api", Member: "bob", Owner: "1", Cwd: w.repo, Own: true}
		w.killed(job{Want: want, At: at})
		tree, _, err := w.store.Create(t.Context(), want)
		if err != nil {
			t.Fatalf("%s: %v", at, err)
		}
		if s := w.status(tree); !s.Clean() || filepath.Base(tree.Path) != "bob" {
			t.Errorf("%s: %s, %+v", at, s, tree)
		}
		w.killed(job{Tree: &tree, At: "removing"})
		if err := w.store.Remove(t.Context(), tree); err != nil {
			t.Errorf("%s: %v", at, err)
		}
		w.quiet()
	}
	// Before the directory was made, any directory in its place belongs to somebody else.
	w := newWorld(t, "repo")
	want := worktree.Want{Team: "api", Member: "bob", Owner: "1", Cwd: w.repo, Own: true}
	w.killed(job{Want: want, At: "recorded"})
	mine := filepath.Join(w.store.Dir, "bob")
	w.write(mine, "precious", "x")
	var there *worktree.ExistsError
	if _, _, err := w.store.Create(t.Context(), want); !errors.As(err, &there) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(mine, "precious")); err != nil {
		t.Error(err)
	}
}

// TestOwnMoved: a branch to which a person has committed in the repository is left as it is.
func TestOwnMoved(t *testing.T) {
	w := newWorld(t, "repo")
	bob := w.own("bob")
	mine := w.git(w.repo, "commit-tree", "-p", bob.Base, "-m", "by a person", bob.Base+"^{tree}")
	w.git(w.repo, "update-ref", "refs/heads/"+bob.Branch, mine)
	w.write(bob.Path, "x", "x")
	w.commit(bob.Path, "work")
	var moved *worktree.MovedError
	if _, err := w.store.Git.Fetch(t.Context(), bob); !errors.As(err, &moved) || w.git(w.repo, "rev-parse", bob.Branch) != mine {
		t.Errorf("%v", err)
	}
	w.git(bob.Path, "fetch", "--quiet", "origin")
	w.git(bob.Path, "merge", "--quiet", "--no-edit", "origin/"+bob.Branch)
	if !w.fetch(bob) {
		t.Error("the merge did not come")
	}
}

// TestOwnHostile: whatever a member writes into its git directory and its files, none of it runs when
// waggle reads or fetches, and the repository gets only the commits of the branch.
func TestOwnHostile(t *testing.T) {
	testenv.Long(t)
	type attack struct {
		name string
		do   func(t *testing.T, w *world, bob worktree.Tree, script string)
		// refused: the branch cannot come; else it comes as always.
		refused bool
	}
	config := func(key string) attack {
		return attack{key, func(t *testing.T, w *world, bob worktree.Tree, script string) {
			w.git(bob.Path, "config", key, script)
		}, false}
	}
	gitFile := func(bob worktree.Tree, name string) string {
		return filepath.Join(bob.Path, ".git", filepath.FromSlash(name))
	}
	replace := func(t *testing.T, path, text string) {
		t.Helper()
		testenv.Must(t, os.RemoveAll(path))
		testenv.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		testenv.Must(t, testenv.Executable(path, []byte(text)))
	}
	link := func(t *testing.T, to, path string) {
		t.Helper()
		testenv.Must(t, os.RemoveAll(path))
		testenv.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		testenv.Must(t, os.Symlink(to, path))
	}
	ref := func(bob worktree.Tree) string { return gitFile(bob, "refs/heads/"+bob.Branch) }
	attacks := []attack{
		config("core.fsmonitor"), config("core.sshCommand"), config("core.pager"), config("core.editor"), config("core.askPass"),
		config("diff.external"), config("uploadpack.packObjectsHook"), config("core.alternateRefsCommand"), config("gpg.program"),
		config("credential.helper"), config("core.gitProxy"), config("remote.origin.uploadpack"), config("pager.status"), config("alias.status"),
		{"hooks", func(t *testing.T, w *world, bob worktree.Tree, script string) {
			for _, h := range []string{"post-checkout", "reference-transaction", "post-index-change", "pre-auto-gc", "fsmonitor-watchman", "post-merge", "post-rewrite", "update", "pre-receive", "post-update", "proc-receive"} {
				replace(t, gitFile(bob, "hooks/"+h), "#!/bin/sh\n"+script+"\n")
			}
		}, false},
		{"hooksPath", func(t *testing.T, w *world, bob worktree.Tree, script string) {
			replace(t, filepath.Join(bob.Path, "h", "reference-transaction"), "#!/bin/sh\n"+script+"\n")
			w.git(bob.Path, "config", "core.hooksPath", filepath.Join(bob.Path, "h"))
		}, false},
		{"filters by attributes", func(t *testing.T, w *world, bob worktree.Tree, script string) {
			w.git(bob.Path, "config", "filter.evil.clean", script)
			w.git(bob.Path, "config", "filter.evil.smudge", script)
			w.git(bob.Path, "config", "filter.evil.process", script)
			w.git(bob.Path, "config", "diff.evil.textconv", script)
			w.git(bob.Path, "config", "merge.evil.driver", script)
			replace(t, gitFile(bob, "info/attributes"), "* filter=evil diff=evil merge=evil\n")
			w.write(bob.Path, ".gitattributes", "* filter=evil diff=evil merge=evil\n")
		}, false},
		{"an included configuration", func(t *testing.T, w *world, bob worktree.Tree, script string) {
			w.write(bob.Path, "evil.config", "[core]\n\tfsmonitor = "+script+"\n")
			w.git(bob.Path, "config", "include.path", filepath.Join(bob.Path, "evil.config"))
		}, false},
		{"a common directory", func(t *testing.T, w *world, bob worktree.Tree, script string) {
			w.git(bob.Path, "init", "--quiet", "--bare", "evil.git")
			w.git(filepath.Join(bob.Path, "evil.git"), "--git-dir=.", "config", "core.fsmonitor", script)
			replace(t, gitFile(bob, "commondir"), "../evil.git\n")
		}, false},
		{"a nested repository", func(t *testing.T, w *world, bob worktree.Tree, script string) {
			w.git(bob.Path, "init", "--quiet", "nested")
			w.write(filepath.Join(bob.Path, "nested"), "file", "x")
			w.commit(filepath.Join(bob.Path, "nested"), "nested")
			w.git(filepath.Join(bob.Path, "nested"), "config", "core.fsmonitor", script)
		}, false},
		{"a submodule", func(t *testing.T, w *world, bob worktree.Tree, script string) {
			sub := filepath.Join(bob.Path, "module")
			w.git(bob.Path, "init", "--quiet", "module")
			w.write(sub, "f", "f")
			w.commit(sub, "in it")
			w.git(bob.Path, "add", "module")
			w.git(sub, "config", "core.fsmonitor", script)
			w.write(sub, "f", "changed")
		}, false},
		{"alternates elsewhere", func(t *testing.T, w *world, bob worktree.Tree, script string) {
			secret := filepath.Join(t.TempDir(), "secret")
			w.git(filepath.Dir(secret), "init", "--quiet", secret)
			w.write(secret, "key", "the private key\n")
			commit := w.commit(secret, "secret")
			replace(t, gitFile(bob, "objects/info/alternates"), filepath.Join(secret, ".git", "objects")+"\n"+filepath.Join(w.repo, ".git", "objects")+"\n")
			replace(t, ref(bob), commit+"\n")
		}, true},
		{"a linked reference", func(t *testing.T, w *world, bob worktree.Tree, script string) {
			link(t, filepath.Join(w.repo, ".git", "refs", "heads", "main"), ref(bob))
		}, true},
		{"a linked directory of references", func(t *testing.T, w *world, bob worktree.Tree, script string) {
			link(t, filepath.Join(w.repo, ".git", "refs", "heads"), gitFile(bob, "refs/heads"))
		}, true},
		{"a linked HEAD", func(t *testing.T, w *world, bob worktree.Tree, script string) {
			link(t, "/etc/hostname", gitFile(bob, "HEAD"))
		}, true},
		{"linked packed-refs", func(t *testing.T, w *world, bob worktree.Tree, script string) {
			w.git(bob.Path, "pack-refs", "--all")
			link(t, "/etc/passwd", gitFile(bob, "packed-refs"))
		}, true},
		{"a linked git directory", func(t *testing.T, w *world, bob worktree.Tree, script string) {
			link(t, filepath.Join(w.repo, ".git"), filepath.Join(bob.Path, ".git"))
		}, true},
		{"a git file", func(t *testing.T, w *world, bob worktree.Tree, script string) {
			replace(t, filepath.Join(bob.Path, ".git"), "gitdir: "+filepath.Join(w.repo, ".git")+"\n")
		}, true},
		{"a linked object", func(t *testing.T, w *world, bob worktree.Tree, script string) {
			hash := strings.Repeat("ab", 20)
			link(t, "/etc/passwd", gitFile(bob, "objects/ab/"+hash[2:]))
		}, true},
		{"a pipe as HEAD", func(t *testing.T, w *world, bob worktree.Tree, script string) {
			testenv.Must(t, errors.Join(os.Remove(gitFile(bob, "HEAD")), syscall.Mkfifo(gitFile(bob, "HEAD"), 0o600)))
		}, true},
		{"a pipe as an object", func(t *testing.T, w *world, bob worktree.Tree, script string) {
			testenv.Must(t, errors.Join(os.MkdirAll(gitFile(bob, "objects/ab"), 0o700), syscall.Mkfifo(gitFile(bob, "objects/ab/"+strings.Repeat("c", 38)), 0o600)))
		}, true},
		{"an object of another name", func(t *testing.T, w *world, bob worktree.Tree, script string) {
			replace(t, gitFile(bob, "objects/ab/"+strings.Repeat("c", 38)), "no object")
		}, true},
		{"a pack that is none", func(t *testing.T, w *world, bob worktree.Tree, script string) {
			replace(t, gitFile(bob, "objects/pack/pack-"+strings.Repeat("c", 40)+".pack"), "PACK\x00\x00\x00\x02\xff\xff\xff\xff")
		}, true},
		{"huge packed-refs", func(t *testing.T, w *world, bob worktree.Tree, script string) {
			w.git(bob.Path, "pack-refs", "--all")
			f, err := os.OpenFile(gitFile(bob, "packed-refs"), os.O_RDWR, 0o600)
			testenv.Must(t, err)
			testenv.Must(t, errors.Join(f.Truncate(40<<30), f.Close()))
		}, true},
		{"a huge reference", func(t *testing.T, w *world, bob worktree.Tree, script string) {
			replace(t, ref(bob), strings.Repeat("a", 1<<20))
		}, true},
		{"many branches", func(t *testing.T, w *world, bob worktree.Tree, script string) {
			for i := range 2100 {
				replace(t, gitFile(bob, fmt.Sprintf("refs/heads/b%d", i)), bob.Base+"\n")
			}
		}, true},
		{"a reference that is an option", func(t *testing.T, w *world, bob worktree.Tree, script string) {
			replace(t, gitFile(bob, "refs/heads/--upload-pack="+"x"), bob.Base+"\n")
		}, true},
		{"a reference with a line of update-ref", func(t *testing.T, w *world, bob worktree.Tree, script string) {
			replace(t, gitFile(bob, "refs/heads/x\ndelete refs"), bob.Base+"\n")
		}, true},
		{"HEAD of another repository's words", func(t *testing.T, w *world, bob worktree.Tree, script string) {
			replace(t, gitFile(bob, "HEAD"), "ref: refs/heads/../../../x\n")
		}, true},
		{"a tip that nobody has", func(t *testing.T, w *world, bob worktree.Tree, script string) {
			replace(t, ref(bob), strings.Repeat("d", 40)+"\n")
		}, true},
		{"a tree that leads out", func(t *testing.T, w *world, bob worktree.Tree, script string) {
			blob := w.git(bob.Path, "hash-object", "-w", "a.txt")
			tree, err := w.tryIn(bob.Path, fmt.Sprintf("100644 blob %s\t.git\n", blob), "mktree")
			if err != nil {
				t.Fatal(err, tree)
			}
			commit := w.git(bob.Path, "commit-tree", "-p", bob.Base, "-m", "evil", tree)
			replace(t, ref(bob), commit+"\n")
		}, true},
	}
	for _, a := range testenv.Rows(t, attacks, 8) {
		t.Run(a.name, func(t *testing.T) {
			w := newWorld(t, "repo")
			bob := w.own("bob")
			w.write(bob.Path, "a.txt", "work\n")
			tip := w.commit(bob.Path, "work")
			evil := filepath.Join(t.TempDir(), "evil")
			ran := evil + ".ran"
			w.write(filepath.Dir(evil), "evil", "#!/bin/sh\ntouch '"+ran+"'\ncat\n")
			testenv.Must(t, os.Chmod(evil, 0o755))
			a.do(t, w, bob, evil)
			_ = os.Remove(ran) // what the attack itself started
			w.write(bob.Path, "sub/b.txt", "changed\n")
			before := snapshot(t, filepath.Join(w.repo, ".git"))

			_, serr := w.store.Git.Status(t.Context(), bob)
			_, _, cerr := w.store.Git.Changed(t.Context(), bob, 10)
			_, derr := w.store.Git.Diff(t.Context(), bob)
			_, ferr := w.store.Git.Fetch(t.Context(), bob)
			_, verr := worktree.Verify(t.Context(), w.env, bob.Path, bob, false)
			rerr := w.store.Remove(t.Context(), bob)

			if _, err := os.Lstat(ran); err == nil {
				t.Error("a program of the member's ran")
			}
			w.kept(rerr)
			t.Logf("status: %v; changed: %v; diff: %v; fetch: %v; verify: %v", serr, cerr, derr, ferr, verr)
			if a.refused {
				if ferr == nil {
					t.Error("it was fetched")
				}
				after := snapshot(t, filepath.Join(w.repo, ".git"))
				for path, text := range after {
					if old, was := before[path]; (!was || old != text) && !strings.Contains(path, "/objects/") {
						t.Errorf("%s has changed", path)
					}
				}
			} else if err := errors.Join(serr, cerr, derr, ferr, verr); err != nil || w.git(w.repo, "rev-parse", bob.Branch) != tip {
				t.Errorf("%v; the branch is at %s", err, w.git(w.repo, "rev-parse", bob.Branch))
			}
			_, terr := w.store.Git.EndTurn(t.Context(), bob)
			t.Logf("turn: %v", terr)
			if _, err := os.Lstat(ran); err == nil {
				t.Error("a program of the member's ran at the end of the turn")
			}
			w.git(w.repo, "fsck", "--strict")
			if out := w.git(w.repo, "log", "--all", "--format=%s"); strings.Contains(out, "secret") || strings.Contains(out, "evil") {
				t.Errorf("the repository has %s", out)
			}
		})
	}
}

// TestOwnIgnores: what the person or the repository ignores outside of its files is no work of a
// confined member's: it is not committed there, nor shown, nor merged.
func TestOwnIgnores(t *testing.T) {
	w := newWorld(t, "repo")
	w.write(w.repo, ".git/persons", "*.swp\n*.env\n")
	w.write(w.repo, ".git/global", "[core]\nexcludesFile = "+filepath.Join(w.repo, ".git", "persons")+"\n")
	w.store.Git.Environ = append(slices.Clone(w.env), "GIT_CONFIG_GLOBAL="+filepath.Join(w.repo, ".git", "global"))
	w.write(w.repo, ".git/info/exclude", "secret\n!kept.env") // no newline at its end
	w.write(w.repo, "secret", "s\n")
	w.write(w.repo, "a.env", "s\n")
	bob := w.own("bob")
	if _, err := w.store.Git.Give(t.Context(), bob, []string{"secret", "a.env"}, nil); err != nil {
		t.Fatal(err)
	}
	w.write(w.repo, "only.env", "\n")
	w.write(w.repo, "dirs/x.swp", "\n")
	w.write(w.repo, ".git/info/exclude", "secret\n!kept.env\ndirs/\n")
	var not *worktree.IgnoreError
	if given, err := w.store.Git.Give(t.Context(), bob, nil, []string{"only.env", "dirs"}); !errors.As(err, &not) || fmt.Sprint(given.Linked) != "[only.env dirs]" {
		t.Errorf("%+v, %v", given, err)
	}
	w.write(bob.Path, "x.swp", "\n")
	w.write(bob.Path, "kept.env", "\n")
	w.prints("?? kept.env", bob.Path, "status", "--short")
	if s := w.status(bob); fmt.Sprint(s.Untracked) != "[kept.env]" {
		t.Errorf("outside: %q", s.Untracked)
	}
	w.write(w.repo, ".git/info/exclude", "secret\n") // later
	if s := w.status(bob); fmt.Sprint(s.Untracked) != "[]" {
		t.Errorf("after a change of what is ignored: %q", s.Untracked)
	}
	if tip, err := w.store.Git.Commit(t.Context(), bob, "work"); err != nil || tip.Made {
		t.Errorf("%+v, %v", tip, err)
	}
	if n, err := w.store.Git.EndTurn(t.Context(), bob); err != nil || n != 0 {
		t.Errorf("turn %d, %v", n, err)
	}
}

// TestOwnSettings: git works in a confined member's checkout although its configuration cannot be written
// there and no key is at hand: commits, branches, tags, submodules.
func TestOwnSettings(t *testing.T) {
	lib, w := newWorld(t, "lib"), newWorld(t, "repo")
	files := "file://" + filepath.ToSlash(filepath.Dir(lib.repo))
	w.git(w.repo, "remote", "add", "origin", files+"/origin")
	allowed := []string{"-c", "protocol.file.allow=always", "submodule", "--quiet"}
	w.git(w.repo, append(allowed, "add", "../lib", "near")...)
	w.git(w.repo, append(allowed, "add", lib.repo, "lib")...)
	w.git(w.repo, "submodule", "--quiet", "deinit", "--all", "--force")
	w.commit(w.repo, "submodules")
	w.git(w.repo, "config", "submodule.lib.url", files+"/lib")
	w.git(w.repo, "config", "merge.ours.driver", "true")
	w.git(w.repo, "tag", "v1")
	w.git(w.repo, "branch", "other")
	bob := w.own("bob")
	config := filepath.Join(bob.Path, ".git", "config")
	before, err := os.ReadFile(config)
	testenv.Must(t, err)
	// As in a sandbox: nobody replaces the file, and gpg has no key.
	w.write(bob.Path, ".git/config.lock", "")
	persons := filepath.Join(t.TempDir(), "gitconfig")
	testenv.Must(t, os.WriteFile(persons, []byte("[commit]\ngpgSign = true\n[tag]\ngpgSign = true\n[gpg]\nprogram = /bin/false\n"), 0o600))
	w.env = append(slices.Clone(w.env), "GIT_CONFIG_GLOBAL="+persons)
	for _, args := range [][]string{
		{"commit", "--quiet", "--allow-empty", "--message", "work"},
		{"tag", "--annotate", "--message", "t", "t", "v1"},
		{"checkout", "--quiet", "-b", "topic", "origin/other"},
		{"checkout", "--quiet", "-"},
		append(allowed, "update", "--init", "lib"),
	} {
		if out, err := w.try(bob.Path, args...); err != nil {
			t.Errorf("%q: %v\n%s", args, err, out)
		}
	}
	if got := w.git(bob.Path, "describe", "--tags", "--match", "v1"); !strings.HasPrefix(got, "v1-1-") {
		t.Errorf("described as %s", got)
	}
	for key, want := range map[string]string{"submodule.near.url": files + "/lib", "submodule.lib.url": files + "/lib", "merge.ours.driver": "true"} {
		if got, err := w.try(bob.Path, "config", "--get", key); err != nil || strings.TrimSpace(got) != want {
			t.Errorf("%s is %s, want %s", key, got, want)
		}
	}
	w.holds(config, string(before))
}

// TestOwnIdentity: the one who commits in a confined member's checkout is the one of the repository, also where the person's
// own configuration says so for directories: a sandbox may not have that file.
func TestOwnIdentity(t *testing.T) {
	w := newWorld(t, "repo")
	dir := t.TempDir()
	persons, work := filepath.Join(dir, "gitconfig"), filepath.Join(dir, "work")
	for path, text := range map[string]string{persons: "[user]\nname = Glob\nemail = glob@example.com\n[includeIf \"gitdir:" + filepath.Dir(w.repo) + "/\"]\npath = " + work + "\n", work: "[user]\nname = Worker\n"} {
		testenv.Must(t, os.WriteFile(path, []byte(text), 0o600))
	}
	w.env = slices.DeleteFunc(slices.Clone(w.env), func(e string) bool {
		return strings.HasPrefix(e, "GIT_AUTHOR_") || strings.HasPrefix(e, "GIT_COMMITTER_")
	})
	w.env = append(slices.Clone(w.env), "GIT_CONFIG_GLOBAL="+persons)
	w.store.Git.Environ = w.env
	bob := w.own("bob")
	w.env = append(slices.Clone(w.env), "GIT_CONFIG_GLOBAL=/dev/null")
	if out, err := w.try(bob.Path, "commit", "--quiet", "--allow-empty", "--message", "work"); err != nil {
		t.Fatal(err, out)
	}
	if got := strings.TrimSpace(w.git(bob.Path, "log", "-1", "--format=%an %ae")); got != "Worker glob@example.com" {
		t.Errorf("committed as %s", got)
	}
}

// TestOwnSettingsAsWritten: a confined member's checkout has the settings of the repository as git reads them there, whatever they hold.
func TestOwnSettingsAsWritten(t *testing.T) {
	w := newWorld(t, "repo")
	want := map[string]string{
		"core.autocrlf":               "input",
		"diff.plain.xfuncname":        "^\t(\"a\\\\b\") # no comment ; \n$ ",
		`diff.a "b" \c.d.textconv`:    `sed "s/\\x/y/"`,
		"merge.empty.name":            "",
		"merge.UPPER and more.driver": "true %O",
	}
	for key, value := range want {
		w.git(w.repo, "config", key, value)
	}
	w.git(w.repo, "config", "--add", "core.autocrlf", want["core.autocrlf"])
	bob := w.own("bob")
	for key, value := range want {
		if got := strings.TrimSuffix(w.git(bob.Path, "config", "--null", "--get", key), "\x00"); got != value {
			t.Errorf("%s is %q, want %q", key, got, value)
		}
	}
}

// TestOwnRefFormat: git's references are files in what waggle reads, whatever the person's default is.
func TestOwnRefFormat(t *testing.T) {
	w := newWorld(t, "repo")
	w.store.Git.Environ = append(slices.Clone(w.env), "GIT_DEFAULT_REF_FORMAT=reftable")
	bob := w.own("bob")
	w.write(bob.Path, "new.txt", "x\n")
	w.commit(bob.Path, "work")
	if !w.fetch(bob) {
		t.Error("the commit did not come")
	}
	w.holds(filepath.Join(bob.Path, ".git", "HEAD"), "ref: refs/heads/"+bob.Branch+"\n")
}

// TestOwnKinds: commits come into repositories of other kinds too.
func TestOwnKinds(t *testing.T) {
	for name, kind := range map[string][][]string{
		"SHA-256":            {{"init", "--quiet", "--initial-branch=main", "--object-format=sha256", "."}, {"commit", "--quiet", "--allow-empty", "-m", "first"}},
		"shallow":            {{"clone", "--quiet", "--depth=1", "URL", "."}},
		"worktree of a bare": {{"clone", "--quiet", "--bare", "URL", "../bare"}, {"--git-dir=../bare", "worktree", "add", "--quiet", "-b", "new", "."}},
		"on no branch":       {{"clone", "--quiet", "URL", "."}, {"checkout", "--quiet", "--detach"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "repo")
			url := "file://" + w.repo
			w.git(w.repo, "commit", "--quiet", "--allow-empty", "--message", "second")
			w.repo = filepath.Join(filepath.Dir(w.repo), "other")
			testenv.Must(t, os.Mkdir(w.repo, 0o700))
			for _, args := range kind {
				for i := range args {
					args[i] = strings.ReplaceAll(args[i], "URL", url)
				}
				w.git(w.repo, args...)
			}
			bob := w.own("bob")
			w.write(bob.Path, "new.txt", "x\n")
			tip := w.commit(bob.Path, "work")
			if !w.fetch(bob) || w.git(w.repo, "rev-parse", bob.Branch) != tip {
				t.Error("the commit did not come")
			}
			if s := w.status(bob); len(s.Commits) != 1 || s.Uncommitted() != 0 {
				t.Errorf("%s, %+v", s, s)
			}
			w.git(bob.Path, "fsck")
		})
	}
}

// TestOwnPartialClone: a repository that lacks objects lends none, until it has them all.
func TestOwnPartialClone(t *testing.T) {
	w := newWorld(t, "repo")
	w.write(w.repo, "a.txt", "newer\n")
	w.commit(w.repo, "second")
	w.git(w.repo, "config", "uploadpack.allowFilter", "true")
	url := "file://" + w.repo
	w.repo = filepath.Join(filepath.Dir(w.repo), "partial")
	w.git(filepath.Dir(w.repo), "clone", "--quiet", "--filter=blob:none", url, w.repo)
	want := worktree.Want{Team: "api", Member: "bob", Owner: "owner-bob", Cwd: w.repo, Own: true}
	if _, _, err := w.store.Create(t.Context(), want); err == nil || !strings.Contains(err.Error(), w.repo+" is a partial clone") || !strings.HasSuffix(err.Error(), "git fetch --refetch --no-filter") {
		t.Errorf("lends what it lacks: %v", err)
	}
	w.prints("", w.repo, "branch", "--list", "waggle*")
	w.git(w.repo, "fetch", "--quiet", "--refetch", "--no-filter") // what the error says
	bob := w.own("bob")
	w.prints("a", bob.Path, "show", "HEAD~1:a.txt")
}

// TestOwnOtherBranches: what other branches of the member are called, and that one has lost its objects, does not keep
// its own branch from the repository.
func TestOwnOtherBranches(t *testing.T) {
	w := newWorld(t, "repo")
	w.git(w.repo, "checkout", "--quiet", "-b", "topic")
	w.write(w.repo, "topic.txt", "t\n")
	topic := w.commit(w.repo, "topic")
	w.git(w.repo, "checkout", "--quiet", "main")
	bob := w.own("bob")
	for _, name := range []string{`a"b`, "a@b,c;d$e", "ümlaut", "a/-b", "a./b", "a/@"} {
		w.git(bob.Path, "branch", "--no-track", "--", name)
	}
	w.git(bob.Path, "branch", "--no-track", "seen", "origin/topic")
	w.fetch(bob)
	w.git(bob.Path, "branch", "--no-track", "unseen", "origin/topic")
	w.git(w.repo, "branch", "--quiet", "-D", "topic")
	w.git(w.repo, "reflog", "expire", "--expire=now", "--all")
	w.git(w.repo, "gc", "--quiet", "--prune=now")
	if out, err := w.try(bob.Path, "cat-file", "-e", topic); err == nil {
		t.Fatalf("the branch has its commit: %s", out)
	}
	w.write(bob.Path, "new.txt", "x\n")
	tip := w.commit(bob.Path, "work")
	if !w.fetch(bob) || w.git(w.repo, "rev-parse", bob.Branch) != tip {
		t.Error("the commit did not come")
	}
	if s := w.status(bob); len(s.Commits) != 1 {
		t.Errorf("%s, %+v", s, s)
	}
}

// TestOwnPush: a push into the repository, which is read-only to a confined member, says what to do instead.
func TestOwnPush(t *testing.T) {
	w := newWorld(t, "repo")
	bob := w.own("bob")
	w.write(bob.Path, "new.txt", "x\n")
	tip := w.commit(bob.Path, "work")
	confined := *w
	readOnly := t.TempDir()
	testenv.Must(t, testenv.Executable(filepath.Join(readOnly, "mktemp"), []byte("#!/bin/sh\nexit 1\n")))
	confined.env = append(slices.Clone(w.env), "PATH="+readOnly+string(os.PathListSeparator)+os.Getenv("PATH"))
	for _, args := range [][]string{{"push"}, {"push", "-u", "origin", "HEAD"}, {"push", "--force", "origin", "HEAD:main"}} {
		out, err := confined.try(bob.Path, args...)
		if err == nil || !strings.HasPrefix(out, "waggle: a confined member cannot push: "+bob.Common+" is read-only to it.\n") || !strings.Contains(out, "the person pushes it from there") {
			t.Errorf("%q: %v\n%s", args, err, out)
		}
	}
	other := t.TempDir()
	w.git(other, "init", "--quiet", "--bare")
	confined.git(bob.Path, "push", other, "HEAD:refs/heads/x")
	w.git(bob.Path, "push") // a person's
	if w.git(w.repo, "rev-parse", bob.Branch) != tip {
		t.Error("a person's push did not come")
	}
}

// TestOwnMalformed: a commit that git's own checks refuse keeps the branch back, with what to do, until it is made anew.
func TestOwnMalformed(t *testing.T) {
	w := newWorld(t, "repo")
	bob := w.own("bob")
	text := "tree " + w.git(bob.Path, "rev-parse", "HEAD^{tree}") + "\nparent " + bob.Base + "\nauthor nobody\ncommitter nobody\n\nbad\n"
	bad, err := w.tryIn(bob.Path, text, "hash-object", "-t", "commit", "-w", "--literally", "--stdin")
	if err != nil {
		t.Fatal(err, bad)
	}
	w.git(bob.Path, "update-ref", "HEAD", bad)
	if _, err := w.store.Git.Fetch(t.Context(), bob); err == nil || !strings.Contains(err.Error(), "git refuses a commit of "+bob.Branch+" as malformed") || !strings.Contains(err.Error(), bad) {
		t.Errorf("%v", err)
	}
	w.git(bob.Path, "commit", "--quiet", "--amend", "--reset-author", "--allow-empty", "--message", "good") // what the error says
	if !w.fetch(bob) || w.git(w.repo, "rev-parse", bob.Branch) != w.git(bob.Path, "rev-parse", "HEAD") {
		t.Error("the repaired commit did not come")
	}
}

// TestOwnBlocked: a named pipe in the place of a file that git reads does not keep waggle waiting.
func TestOwnBlocked(t *testing.T) {
	for _, name := range []string{".gitignore", ".gitattributes"} {
		w := newWorld(t, "repo")
		w.store.Git.Limit = time.Hour
		bob := w.own("bob")
		w.write(bob.Path, "deep/file", "x\n")
		path := filepath.Join(bob.Path, "deep", name)
		testenv.Must(t, syscall.Mkfifo(path, 0o600))
		if _, err := w.store.Git.EndTurn(t.Context(), bob); err == nil || !strings.Contains(err.Error(), path+" is no plain file") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
