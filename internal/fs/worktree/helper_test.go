package worktree_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"waggle/internal/fs/worktree"
	"waggle/internal/test/testenv"
)

// environ is an environment in which git has no settings of this machine's user.
func environ(t testing.TB) []string {
	t.Helper()
	return append(worktree.Environ(os.Environ()), "HOME="+t.TempDir(), "GIT_CONFIG_GLOBAL="+strict(t), "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com")
}

// strict is a configuration with which git does not take a directory that it only finds for a
// repository. It flushes nothing and does not tidy up after a command.
func strict(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "gitconfig")
	testenv.Must(t, os.WriteFile(path, []byte("[safe]\n\tbareRepository = explicit\n[core]\n\tfsync = none\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n"), 0o600))
	return path
}

// world is a repository and a Store for it.
type world struct {
	t     testing.TB
	env   []string
	repo  string
	store worktree.Store
}

// kinds are those of checkouts that a test tries, by whether one is a repository of its own: a worktree, and in
// the full run both.
func kinds() []bool {
	if testenv.Full() {
		return []bool{false, true}
	}
	return []bool{false}
}

// newWorld makes a repository, with a commit, in a directory of that name.
func newWorld(t testing.TB, name string) *world {
	t.Helper()
	testenv.Require(t, "git")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	testenv.Must(t, err)
	w := &world{t: t, env: environ(t), repo: filepath.Join(dir, name)}
	g, err := worktree.Find(w.env)
	testenv.Must(t, err)
	w.store = worktree.Store{Git: g, Dir: filepath.Join(dir, "place", "api-0123abcd"), Records: filepath.Join(dir, "records")}
	testenv.Must(t, os.MkdirAll(w.repo, 0o755))
	w.git(w.repo, "init", "--quiet", "--initial-branch=main")
	w.write(w.repo, "a.txt", "a\n")
	w.write(w.repo, "sub/b.txt", "b\n")
	w.write(w.repo, ".gitignore", "*.o\n")
	w.commit(w.repo, "first")
	return w
}

// git runs git and returns its output, trimmed.
func (w *world) git(dir string, args ...string) string {
	w.t.Helper()
	out, err := w.try(dir, args...)
	if err != nil {
		w.t.Fatalf("git %q in %s: %v\n%s", args, dir, err, out)
	}
	return out
}

func (w *world) try(dir string, args ...string) (string, error) {
	cmd := exec.Command(w.store.Git.Program, args...)
	cmd.Dir, cmd.Env = dir, w.env
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// tryIn is try with an input.
func (w *world) tryIn(dir, input string, args ...string) (string, error) {
	cmd := exec.Command(w.store.Git.Program, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, w.env, strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (w *world) write(dir, name, text string) {
	w.t.Helper()
	path := filepath.Join(dir, name)
	testenv.Must(w.t, os.MkdirAll(filepath.Dir(path), 0o755))
	testenv.Must(w.t, os.WriteFile(path, []byte(text), 0o644))
}

func (w *world) commit(dir, subject string) string {
	w.t.Helper()
	w.git(dir, "add", "--all")
	w.git(dir, "commit", "--quiet", "--message", subject)
	return w.git(dir, "rev-parse", "HEAD")
}

// create makes a worktree for a member.
func (w *world) create(member string) worktree.Tree {
	w.t.Helper()
	tree, _, err := w.store.Create(w.t.Context(), worktree.Want{Team: "api", Member: member, Owner: "owner-" + member, Cwd: w.repo})
	testenv.Must(w.t, err)
	return tree
}

func (w *world) status(t worktree.Tree) worktree.Status {
	w.t.Helper()
	s, err := w.store.Git.Status(w.t.Context(), t)
	testenv.Must(w.t, err)
	return s
}

// hook writes a hook of the repository.
func (w *world) hook(name, script string) {
	w.t.Helper()
	path := filepath.Join(w.git(w.repo, "rev-parse", "--path-format=absolute", "--git-common-dir"), "hooks", name)
	w.write(filepath.Dir(path), name, "#!/bin/sh\n"+script)
	testenv.Must(w.t, os.Chmod(path, 0o755))
}

// branches lists the branches that begin with waggle/.
func (w *world) branches() []string {
	w.t.Helper()
	return strings.Fields(w.git(w.repo, "for-each-ref", "--format=%(refname:short)", "refs/heads/waggle/"))
}

func (w *world) gone(path string) {
	w.t.Helper()
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		w.t.Errorf("%s is there (%v)", path, err)
	}
}

// prints checks what git prints, trimmed.
func (w *world) prints(want, dir string, args ...string) {
	w.t.Helper()
	if got := w.git(dir, args...); got != want {
		w.t.Errorf("git %q in %s: %q, want %q", args, dir, got, want)
	}
}

// holds checks what is in a file.
func (w *world) holds(path, want string) {
	w.t.Helper()
	if b, err := os.ReadFile(path); err != nil || string(b) != want {
		w.t.Errorf("%s: %q, %v, want %q", path, b, err, want)
	}
}

// removed removes a worktree that has no work.
func (w *world) removed(t worktree.Tree) {
	w.t.Helper()
	if err := w.store.Remove(w.t.Context(), t); err != nil {
		w.t.Error(err)
	}
}

// kept checks the error of a removal that is refused, and that it says so.
func (w *world) kept(err error, says ...string) *worktree.KeptError {
	w.t.Helper()
	kept, ok := errors.AsType[*worktree.KeptError](err)
	if !ok {
		w.t.Fatalf("not kept: %v", err)
	}
	for _, s := range says {
		if !strings.Contains(err.Error(), s) {
			w.t.Errorf("%v, want %s", err, s)
		}
	}
	return kept
}

// quiet checks that nothing of a worktree is left: no record, no directory, no branch, no entry in
// git's list.
func (w *world) quiet() {
	w.t.Helper()
	rs, err := w.store.List()
	if err != nil || len(rs) > 0 {
		w.t.Errorf("on record: %v, %v", rs, err)
	}
	if bs := w.branches(); len(bs) > 0 {
		w.t.Errorf("branches %v", bs)
	}
	if out := w.git(w.repo, "worktree", "list", "--porcelain"); strings.Count(out, "worktree ") != 1 {
		w.t.Errorf("worktrees:\n%s", out)
	}
	if entries, err := os.ReadDir(w.store.Dir); err == nil && len(entries) > 0 {
		w.t.Errorf("in the place: %v", entries)
	}
}
