//go:build unix

package worktree_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"waggle/internal/fs/worktree"
	"waggle/internal/test/testenv"
)

// job is the work of a process of its own until it is killed.
type job struct {
	Store worktree.Store
	Want  worktree.Want
	Tree  *worktree.Tree // to remove; nil: Want is created
	Merge *worktree.Tree // to merge and to remove; nil: not
	Abort *worktree.Tree // whose merge is to be taken back; nil: not
	At    string         // the step at which it kills itself; "": a hook kills it
}

func TestMain(m *testing.M) {
	if text := os.Getenv("WAGGLE_TEST_JOB"); text != "" {
		var j job
		if err := json.Unmarshal([]byte(text), &j); err != nil {
			panic(err)
		}
		s := j.Store.Stop(func(step string) {
			if step == j.At {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		})
		var err error
		switch {
		case j.Merge != nil:
			err = mergeWhole(s, *j.Merge)
		case j.Abort != nil:
			_, err = s.Abort(context.Background(), *j.Abort)
		case j.Tree != nil:
			err = s.Remove(context.Background(), *j.Tree)
		default:
			_, _, err = s.Create(context.Background(), j.Want)
		}
		if err != nil {
			panic(err)
		}
		os.Exit(0)
	}
	testenv.Overlap(3)
	os.Exit(m.Run())
}

// killed runs a job in a process of its own, which must not survive it.
func (w *world) killed(j job) {
	w.t.Helper()
	j.Store = w.store
	text, err := json.Marshal(j)
	testenv.Must(w.t, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "WAGGLE_TEST_JOB="+string(text))
	out, err := cmd.CombinedOutput()
	var status *exec.ExitError
	if !errors.As(err, &status) || status.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		w.t.Fatalf("it was not killed: %v\n%s", err, out)
	}
}

// everything is a hook or a filter that kills git with all that it started, and the
// process that started git: git's group is led by the git whose parent that is.
const everything = `
leader=$(ps -o pgid= -p $$ | tr -d ' ')
kill -9 $(ps -o ppid= -p $leader)
kill -9 0
`

// TestKilledCreate kills Create, and git in the middle of its work, at each step. The next Create
// gives the owner a whole worktree, and another owner one under the same name; nothing else is
// left.
func TestKilledCreate(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	for _, c := range []struct {
		name    string
		at      string
		prepare func(w *world) (after func())
	}{
		{"recorded", "recorded", nil},
		{"directory", "directory", nil},
		{"branch half made", "", func(w *world) func() {
			w.hook("reference-transaction", "[ \"$1\" = prepared ] && grep -q waggle/ && {\n"+everything+"}\nexit 0\n")
			return func() { w.hook("reference-transaction", "exit 0\n") }
		}},
		{"branch made", "", func(w *world) func() {
			w.hook("reference-transaction", "[ \"$1\" = committed ] && grep -q waggle/ && {\n"+everything+"}\nexit 0\n")
			return func() { w.hook("reference-transaction", "exit 0\n") }
		}},
		{"files half written", "", func(w *world) func() {
			w.write(w.repo, ".gitattributes", "sub/* filter=deadly\n")
			w.commit(w.repo, "filter")
			script := filepath.Join(w.t.TempDir(), "deadly")
			testenv.Must(w.t, testenv.Executable(script, []byte("#!/bin/sh\n"+everything)))
			w.git(w.repo, "config", "filter.deadly.smudge", script)
			w.git(w.repo, "config", "filter.deadly.required", "true")
			return func() { w.git(w.repo, "config", "--remove-section", "filter.deadly") }
		}},
		{"in the hook", "", func(w *world) func() {
			w.hook("post-checkout", everything)
			return func() { w.hook("post-checkout", "exit 0\n") }
		}},
		{"added", "added", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, owner := range []string{"the same", "another"} {
				w := newWorld(t, "repo")
				after := func() {}
				if c.prepare != nil {
					after = c.prepare(w)
				}
				want := worktree.Want{Team: "api", Member: "bob", Owner: "the same", Cwd: w.repo}
				w.killed(job{Want: want, At: c.at})
				after()
				w.store.Git.LeftAfter = time.Millisecond // of the locks that a killed git leaves
				want.Owner = owner
				tree, _, err := w.store.Create(t.Context(), want)
				if err != nil {
					t.Fatalf("%s: %v", owner, err)
				}
				if tree.Branch != "waggle/api/bob" || filepath.Base(tree.Path) != "bob" {
					t.Errorf("%s: %+v", owner, tree)
				}
				if _, err := worktree.Verify(t.Context(), w.env, tree.Path, tree, true); err != nil {
					t.Errorf("%s: %v", owner, err)
				}
				if b, err := os.ReadFile(filepath.Join(tree.Path, "sub", "b.txt")); err != nil || string(b) != "b\n" {
					t.Errorf("%s: %q, %v", owner, b, err)
				}
				if s := w.status(tree); !s.Clean() {
					t.Errorf("%s: %s", owner, s)
				}
				if rs, err := w.store.List(); err != nil || len(rs) != 1 || rs[0].Owner != owner {
					t.Errorf("%s: on record: %+v, %v", owner, rs, err)
				}
				if err := w.store.Remove(t.Context(), tree); err != nil {
					t.Errorf("%s: %v", owner, err)
				}
				w.quiet()
			}
		})
	}
}

func TestKilledRemove(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	for _, c := range []struct {
		at   string
		then func(w *world, tree worktree.Tree)
	}{
		{"removing", nil},
		{"removing", func(w *world, tree worktree.Tree) { // git was killed while it deleted
			if err := os.RemoveAll(filepath.Join(tree.Path, "sub")); err != nil {
				w.t.Error(err)
			}
		}},
		{"removing", func(w *world, tree worktree.Tree) { // it had deleted .git before other files
			if err := errors.Join(os.Remove(filepath.Join(tree.Path, ".git")), os.RemoveAll(filepath.Join(tree.Path, "sub"))); err != nil {
				w.t.Error(err)
			}
		}},
		{"removed", nil},
		{"branch", nil},
	} {
		w := newWorld(t, "repo")
		tree := w.create("bob")
		w.killed(job{Tree: &tree, At: c.at})
		if c.then != nil {
			c.then(w, tree)
		}
		if err := w.store.Remove(t.Context(), tree); err != nil {
			t.Errorf("%s: %v", c.at, err)
		}
		w.quiet()
	}
	// A change that a person made meanwhile counts.
	w := newWorld(t, "repo")
	tree := w.create("bob")
	w.killed(job{Tree: &tree, At: "removing"})
	testenv.Must(t, os.Remove(filepath.Join(tree.Path, "a.txt")))
	w.write(tree.Path, "mine", "x")
	testenv.Must(t, os.Remove(filepath.Join(tree.Path, ".git")))
	w.kept(w.store.Remove(t.Context(), tree))
	w.holds(filepath.Join(tree.Path, "mine"), "x")
}

// TestLeftAlone: an interrupted Create whose directory another program filled is not removed.
func TestLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "repo")
	want := worktree.Want{Team: "api", Member: "bob", Owner: "1", Cwd: w.repo}
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

// TestSlow ends a git that takes too long, with all processes that it started, and removes what it
// made.
func TestSlow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "repo")
	pipe := filepath.Join(t.TempDir(), "pipe")
	testenv.Must(t, syscall.Mkfifo(pipe, 0o600))
	w.hook("post-checkout", "echo $$ > '"+pipe+"'\nexec sleep 600\n")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	pid := make(chan string, 1)
	go func() {
		b, err := os.ReadFile(pipe) // until the hook has written
		if err != nil {
			t.Error(err)
		}
		cancel()
		pid <- strings.TrimSpace(string(b))
	}()
	_, _, err := w.store.Create(ctx, worktree.Want{Team: "api", Member: "bob", Owner: "1", Cwd: w.repo})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if f, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil { // the hook never ran
		f.Close()
	}
	if out, err := exec.Command("ps", "-o", "stat=", "-p", <-pid).Output(); err == nil && !strings.HasPrefix(string(out), "Z") {
		t.Errorf("the hook lives: %s", out)
	}
	w.quiet()
}
