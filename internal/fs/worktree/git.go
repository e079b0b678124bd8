package worktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"waggle/internal/cut"
	"waggle/spawn"
)

// Git is how git is run.
type Git struct {
	Program string   // absolute
	Environ []string // without the variables that redirect git, see Environ
	// Limit is how long one call may take; 0 means 30 s. Making a worktree, which writes all of its
	// files and runs a hook, may take 20 times that.
	Limit time.Duration
	// LeftAfter is how long a lock that only waggle takes stands before it counts as left by a killed git; 0 means 5 s.
	LeftAfter time.Duration

	gitDir   string   // named to git; "": git finds it from the directory it runs in
	workTree string   // likewise the top level of its files
	mirror   bool     // gitDir is a mirror, which only waggle writes
	options  []string // of every call, besides always
	extra    []string // of the environment, behind Environ
	input    string   // what git reads
	all      bool     // Status lists each file, and not only as many as it shows
	patch    bool     // the text of a Difference has the contents of binary files
}

// of is g for calls about the repository and no checkout: it names its git directory, because git
// may be configured to use none that it finds by itself (safe.bareRepository).
func (g Git) of(common string) Git {
	g.gitDir, g.mirror = common, false
	return g
}

// Find looks git up in the PATH of an environment. Its error is ErrNoGit.
func Find(environ []string) (Git, error) {
	program, err := spawn.LookPath("git", environ)
	if err != nil {
		return Git{}, fmt.Errorf("%w: %w", ErrNoGit, err)
	}
	return Git{Program: program, Environ: environ}, nil
}

// Environ is an environment without the variables that point git elsewhere, as a
// process has them that was started by a git hook: the environment for a process
// that works in a worktree.
func Environ(environ []string) []string {
	return spawn.Without(environ, spawn.ScopeRepository)
}

// Explicit is an environment in which git takes a directory for a bare repository only when it is told so. A
// directory that looks like one may be made by whoever writes files, and its configuration names programs.
func Explicit(environ []string) []string {
	const count = "GIT_CONFIG_COUNT="
	n, env := 0, make([]string, 0, len(environ)+3)
	for _, v := range environ {
		value, counts := strings.CutPrefix(v, count)
		switch value = strings.TrimSpace(value); {
		case strings.HasPrefix(v, "GIT_CONFIG_PARAMETERS="): // it would come after
			continue
		case !counts:
			env = append(env, v)
			continue
		case value == "":
			n = 0
			continue
		}
		var err error
		if n, err = strconv.Atoi(value); err != nil || n < 0 {
			return environ // git refuses it
		}
	}
	at := strconv.Itoa(n)
	return append(env, count+strconv.Itoa(n+1), "GIT_CONFIG_KEY_"+at+"=safe.bareRepository", "GIT_CONFIG_VALUE_"+at+"=explicit")
}

// GitError is a call of git that failed.
type GitError struct {
	Args []string
	Dir  string
	Said string // on stderr, shortened
	Err  error
}

func (e *GitError) Error() string {
	what := "git " + e.Args[0]
	if e.Args[0] == "worktree" && len(e.Args) > 1 {
		what += " " + e.Args[1]
	}
	if e.Said != "" {
		return fmt.Sprintf("%s in %s: %s", what, e.Dir, e.Said)
	}
	return fmt.Sprintf("%s in %s: %v", what, e.Dir, e.Err)
}

func (e *GitError) Unwrap() error { return e.Err }

const (
	outLimit = 16 << 20 // of one call's output
	errLimit = 4 << 10
	slow     = 20 // so many times Limit for what writes a whole checkout
	// endWait is how long a git that was told to end may take, and what it has
	// started may keep its output open.
	endWait = 5 * time.Second
)

// always are options of every call: a call that only reads must not take the index's lock from a
// member who works, nor start a file monitor for its directory.
var always = []string{"--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false", "-c", "advice.detachedHead=false"}

// run runs git in dir and returns what it wrote to stdout.
func (g Git) run(ctx context.Context, dir string, args ...string) (string, error) {
	return g.whole(ctx, dir, 1, outLimit, args...)
}

// whole is bounded for an output that is of use only as a whole: a longer one is an error.
func (g Git) whole(ctx context.Context, dir string, times, limit int, args ...string) (string, error) {
	out, more, err := g.bounded(ctx, dir, times, limit, args...)
	if err == nil && more {
		return "", &GitError{Args: args, Dir: dir, Err: fmt.Errorf("it wrote more than %d bytes", limit)}
	}
	return out, err
}

// act runs a git that may write all files of a checkout and run hooks. What it writes to stdout is dropped, so that
// it works to its end however much that is.
func (g Git) act(ctx context.Context, dir string, args ...string) error {
	return g.command(ctx, dir, slow, &capped{drop: true}, args...)
}

// line is run for an answer of one line, which may hold newlines itself.
func (g Git) line(ctx context.Context, dir string, args ...string) (string, error) {
	out, err := g.run(ctx, dir, args...)
	return strings.TrimSuffix(out, "\n"), err
}

// answers are those of git rev-parse to as many questions. A path among them may hold a line break: then each is asked alone.
func (g Git) answers(ctx context.Context, dir string, questions ...string) (all []string, err error) {
	ask := []string{"rev-parse", "--path-format=absolute"}
	out, err := g.line(ctx, dir, append(slices.Clone(ask), questions...)...)
	if err != nil {
		return nil, err
	}
	if all = strings.Split(out, "\n"); len(all) == len(questions) {
		return all, nil
	}
	all = make([]string, len(questions))
	for i, q := range questions {
		if all[i], err = g.line(ctx, dir, append(slices.Clone(ask), q)...); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// bounded is run with other limits: on the time, as a multiple of Limit, and on the
// output in bytes, where more says that it was cut.
func (g Git) bounded(ctx context.Context, dir string, times, limit int, args ...string) (out string, more bool, err error) {
	stdout := &capped{Head: cut.Head{Max: limit}}
	err = g.command(ctx, dir, times, stdout, args...)
	if stdout.Over {
		return string(stdout.Kept), true, nil
	}
	if err != nil {
		return "", false, err
	}
	return string(stdout.Kept), false, nil
}

// command runs git in dir, at most times as long as Limit, and once more when a lock was in its way that a killed git
// has left.
func (g Git) command(ctx context.Context, dir string, times int, stdout *capped, args ...string) error {
	fresh := *stdout
	err := g.once(ctx, dir, times, stdout, args...)
	if lock := g.lockOf(err); lock != "" && g.removeLeft(ctx, lock) {
		*stdout = fresh
		err = g.once(ctx, dir, times, stdout, args...)
	}
	return err
}

func (g Git) once(ctx context.Context, dir string, times int, stdout *capped, args ...string) error {
	if g.Program == "" {
		return ErrNoGit
	}
	if fi, err := os.Stat(dir); err != nil || !fi.IsDir() {
		if err == nil {
			err = &fs.PathError{Op: "chdir", Path: dir, Err: errors.New("not a directory")}
		}
		return err
	}
	limit := cmp.Or(g.Limit, 30*time.Second) * time.Duration(times)
	tctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it took longer than %v", limit))
	defer cancel()
	if g.workTree != "" {
		var giveUp context.CancelCauseFunc
		tctx, giveUp = context.WithCancelCause(tctx)
		defer giveUp(nil)
		go giveUpBlocked(tctx, giveUp, g.workTree)
	}
	argv := slices.Clone(always)
	if g.gitDir != "" {
		argv = append(argv, "--git-dir="+g.gitDir)
	}
	if g.workTree != "" {
		argv = append(argv, "--work-tree="+g.workTree)
	}
	cmd := exec.CommandContext(tctx, g.Program, slices.Concat(argv, g.options, args)...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, append(append(Environ(g.Environ), "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "PWD="+dir), g.extra...), endWait
	cmd.Stdin = strings.NewReader(g.input)
	inGroup(cmd)
	stderr := &cut.Head{Max: errLimit}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if err := cmd.Run(); err != nil {
		if tctx.Err() != nil {
			err = context.Cause(tctx)
		}
		return &GitError{Args: args, Dir: dir, Said: strings.TrimSpace(string(stderr.Kept)), Err: err}
	}
	return nil
}

// capped is a cut.Head that fails when there is more, unless it is to drop that.
type capped struct {
	cut.Head
	drop bool
}

var errFull = errors.New("enough")

func (c *capped) Write(p []byte) (int, error) {
	n, err := c.Head.Write(p)
	if c.Over && !c.drop {
		err = errFull
	}
	return n, err
}

// exit is the exit status of a git that failed by itself, else -1.
func exit(err error) int {
	if status, ok := errors.AsType[*exec.ExitError](err); ok {
		return status.ExitCode()
	}
	return -1
}

// said reports whether git said something when it failed.
func said(err error, text string) bool {
	g, ok := errors.AsType[*GitError](err)
	return ok && strings.Contains(g.Said, text)
}

// fields splits a NUL-separated list. Bytes behind the last NUL are a truncated field and dropped.
func fields(out string) []string {
	parts := strings.Split(out, "\x00")
	return parts[:len(parts)-1]
}

// commit is the full name of a commit, "" when the revision is none.
func (g Git) commit(ctx context.Context, dir, rev string) (string, error) {
	out, err := g.line(ctx, dir, "rev-parse", "--verify", "--quiet", rev+"^{commit}")
	if exit(err) == 1 {
		return "", nil
	}
	return out, err
}

// refOf is the full name of a branch.
func refOf(branch string) string { return "refs/heads/" + branch }

// listed is one worktree as git lists it.
type listed struct {
	path, branch string
	head         string // the commit that it is at; "" for none
	locked       bool
	reason       string
	prunable     bool
	bare         bool
}

// listed is a worktree as git lists it, whose directory may not exist; the zero value when git does not list it.
func (g Git) listed(ctx context.Context, t Tree) (listed, error) {
	all, err := g.worktrees(ctx, t.Common)
	for _, w := range all {
		if w.path == t.Path {
			return w, err
		}
	}
	return listed{}, err
}

// worktrees lists the worktrees of a repository, the main checkout first.
func (g Git) worktrees(ctx context.Context, common string) ([]listed, error) {
	out, err := g.of(common).run(ctx, common, "worktree", "list", "--porcelain", "-z")
	if exit(err) == 129 { // git before 2.36 has no -z here, and cannot list a path with a newline
		out, err = g.of(common).run(ctx, common, "worktree", "list", "--porcelain")
		out = strings.ReplaceAll(out, "\n", "\x00")
	}
	if err != nil {
		return nil, err
	}
	var all []listed
	for _, f := range fields(out) {
		key, value, _ := strings.Cut(f, " ")
		if key == "worktree" {
			all = append(all, listed{path: value})
			continue
		}
		if len(all) == 0 {
			continue
		}
		w := &all[len(all)-1]
		switch key {
		case "HEAD":
			if strings.Trim(value, "0") != "" {
				w.head = value
			}
		case "branch":
			w.branch = strings.TrimPrefix(value, "refs/heads/")
		case "locked":
			w.locked, w.reason = true, value
		case "prunable":
			w.prunable = true
		case "bare":
			w.bare = true
		}
	}
	return all, nil
}
