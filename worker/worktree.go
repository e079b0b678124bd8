package worker

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"waggle/control"
	"waggle/internal/fs/realpath"
	"waggle/internal/fs/worktree"
	"waggle/record"
)

// ErrNotIsolated means that a member with a worktree does not run in it. It takes no work then.
var ErrNotIsolated = errors.New("this member has a worktree of its own and is not in it")

// isolated checks from inside this process that a member with a worktree works in it, before it
// takes work: the directory of the process, the directories of its tasks, and the repository that
// git finds with their environment. begun is true when it has worked before. top is the worktree's
// top level, "" when the member has none.
func isolated(ctx context.Context, o Options, lead *control.Leader, begun bool) (top string, err error) {
	m, ok := lead.ByInstance(o.Instance)
	if !ok || m.Worktree == nil || m.Left != nil || lead.Ended != nil {
		return "", nil // takeEpoch returns the error
	}
	dirs := []string{m.Cwd}
	if o.Dir != "" {
		dirs = append(dirs, o.Dir)
	}
	for _, dir := range dirs {
		e, err := worktree.Verify(ctx, o.Environ, dir, worktree.Tree(*m.Worktree), !begun)
		if err != nil {
			return "", unfit(o, m, ErrNotIsolated, fmt.Errorf("in %s: %w", dir, err))
		}
		top = e.Top
	}
	return top, nil
}

// bringer puts what a turn has changed on record in the repository, and fetches the member's branch, for
// a checkout with a git directory of its own.
func bringer(o Options, t *record.Worktree) func(context.Context) error {
	if t == nil {
		return nil
	}
	return func(ctx context.Context) error {
		g, err := worktree.Find(o.Environ)
		if err != nil {
			return err
		}
		if err := fetch(ctx, g, worktree.Tree(*t)); err != nil {
			return err
		}
		if _, err := g.EndTurn(ctx, worktree.Tree(*t)); err != nil {
			return fmt.Errorf("what the turn changed is not on record: %w", err)
		}
		return nil
	}
}

// taskDir is the directory of a task. With a worktree, one in the checkout that it was
// made from is the same one in the worktree, and a relative one does not leave it.
func (w *Worker) taskDir(dir string) (string, error) {
	if dir == "" {
		return w.p.Cwd, nil
	}
	cwd := dir
	if !filepath.IsAbs(dir) {
		cwd = filepath.Join(w.p.Cwd, dir)
	}
	tree := w.p.Worktree
	if tree == nil {
		return cwd, nil
	}
	if realpath.Within(tree.Path, cwd) {
		return cwd, nil
	}
	if !filepath.IsAbs(dir) {
		return "", fmt.Errorf("the task's directory %s is outside of the member's worktree %s", dir, tree.Path)
	}
	if rel, ok := realpath.Below(tree.Repo, cwd); ok {
		return filepath.Join(tree.Path, rel), nil
	}
	return cwd, nil
}
