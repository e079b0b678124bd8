package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"waggle/internal/backoff"
)

// Remove removes a worktree if that loses no work: otherwise it stays as it is, and the error is a
// *KeptError that lists the work. There is no way to force it; a person who wants to throw work
// away uses git. No process may work in it any more.
//
// Its branch is deleted when it holds no commit of its own, and stays otherwise. A worktree that is
// not recorded is an *UnknownError. When its directory or its repository does not exist any more,
// only the record is removed.
func (s Store) Remove(ctx context.Context, t Tree) error {
	return s.with(ctx, t, func(r Record) error {
		err := s.remove(ctx, r)
		if err == nil {
			_ = os.Remove(filepath.Dir(t.Path)) // if it was the last one
		}
		return err
	})
}

func (s Store) remove(ctx context.Context, r Record) error {
	t := r.Tree
	if r.State == making {
		return s.undo(ctx, r)
	}
	if _, err := os.Lstat(t.Common); errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(t.Path); errors.Is(err, fs.ErrNotExist) {
			return s.forget(r) // neither exists any more
		}
		return &KeptError{Tree: t, Why: "its repository does not exist any more"}
	}
	if t.own() && r.State != removing {
		if _, err := os.Lstat(t.Path); err == nil {
			if _, err := s.Git.Fetch(ctx, t); err != nil {
				return &KeptError{Tree: t, Why: err.Error()}
			}
		}
	}
	st, err := s.left(ctx, r)
	if err == nil && !st.Missing && !t.own() {
		err = s.Git.hidden(ctx, t, ".", &st)
	}
	if _, other := errors.AsType[*MismatchError](err); other {
		return &KeptError{Tree: t, Why: err.Error()}
	}
	if err != nil {
		return err
	}
	force := r.State == removing && !st.Missing && s.Git.halfGone(ctx, t.Path, &st)
	switch {
	case st.Clean(), force:
	default:
		return &KeptError{Tree: t, Status: st}
	}
	if r.State != removing {
		r.State = removing
		if err := s.put(r); err != nil {
			return err
		}
	}
	s.at("removing")
	if err := s.drop(ctx, t, force); err != nil {
		return err
	}
	s.at("removed")
	if _, err := s.dropBranch(ctx, t, t.Base); err != nil {
		return err
	}
	s.at("branch")
	if err := s.Git.dropTurns(ctx, t); err != nil {
		return err
	}
	return s.forget(r)
}

// left is the Status of a worktree, of which a removal that was cut short may have taken files.
func (s Store) left(ctx context.Context, r Record) (st Status, err error) {
	if r.State != removing || r.Tree.own() {
		return s.Git.Status(ctx, r.Tree)
	}
	if _, err := os.Lstat(r.Tree.Path); errors.Is(err, fs.ErrNotExist) {
		return Status{Missing: true}, nil // it was clean, and half of its git directory may be gone too
	}
	for range 10 { // a git that is still removing it takes .git while git status runs
		if err = link(r.Tree); err != nil {
			return st, fmt.Errorf("worktree: %w", err)
		}
		if st, err = s.Git.Status(ctx, r.Tree); err == nil {
			return st, nil
		}
		if !backoff.Pause(ctx, 100*time.Millisecond) {
			return st, ctx.Err()
		}
	}
	return st, err
}

// link writes the .git of a worktree anew from which a removal that was cut short had taken it, so that git
// looks at what is left. A git that is still removing it, though the process that started it is gone, then
// leaves the rest.
func link(t Tree) error {
	at := filepath.Join(t.Path, ".git")
	if _, err := os.Lstat(at); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	dir, err := admin(t)
	if err != nil || dir == "" {
		return err
	}
	f, err := os.OpenFile(at, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) {
		return nil // it is gone by now
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString("gitdir: " + dir + "\n")
	return errors.Join(err, f.Close())
}

// halfGone reports a worktree whose removal was cut short: it was clean then, and all
// that differs now is that files are missing.
func (g Git) halfGone(ctx context.Context, dir string, st *Status) bool {
	if len(st.Untracked)+len(st.Hidden)+len(st.Commits)+len(st.Submodules)+len(st.Stashes) > 0 || st.Operation != "" || st.Locked || len(st.Changed) == 0 {
		return false
	}
	changed, err := g.remaining(ctx, dir, st)
	if err != nil {
		return false
	}
	for _, f := range changed {
		at := dir + string(os.PathSeparator) + f
		if _, err := os.Lstat(at); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if _, err := os.Lstat(filepath.Join(at, ".git")); err != nil {
			return false
		}
		var inside Status // of a submodule
		in := g
		in.options = hardened
		if err := in.changes(ctx, at, &inside); err != nil || !in.halfGone(ctx, at, &inside) {
			return false
		}
	}
	return true
}

// remaining are the changed files of a status. Of one that was cut they are all that exist, each untracked file among them.
func (g Git) remaining(ctx context.Context, dir string, st *Status) ([]string, error) {
	if !st.cutFiles {
		return st.Changed, nil
	}
	changed, err := g.run(ctx, dir, "diff", "--name-only", "-z", "--no-renames", "--no-relative", "--no-ext-diff", "--no-textconv",
		"--ignore-submodules=none", "--diff-filter=d", "HEAD", "--")
	if err != nil {
		return nil, err
	}
	others, err := g.run(ctx, dir, "ls-files", "--others", "--exclude-standard", "--directory", "-z")
	return append(fields(changed), fields(others)...), err
}

// drop runs git to remove a worktree. Git itself checks once more, unless forced or where it would refuse any
// submodule: their state was looked at before.
func (s Store) drop(ctx context.Context, t Tree, force bool) error {
	if t.own() {
		return s.dropOwn(t)
	}
	all, err := s.Git.worktrees(ctx, t.Common)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(all, func(w listed) bool { return w.path == t.Path }) {
		if _, err := os.Lstat(t.Path); errors.Is(err, fs.ErrNotExist) {
			return nil // git is done with it
		}
		return &KeptError{Tree: t, Why: "git does not list it as a worktree any more"}
	}
	args := []string{"worktree", "remove"}
	if _, err := os.Lstat(t.Path); err == nil && !force {
		if force, err = s.Git.hasSubmodules(ctx, t); err != nil {
			return err
		}
	}
	if force {
		args = append(args, "--force")
	}
	err = s.Git.of(t.Common).act(ctx, t.Common, append(args, "--", t.Path)...)
	if said(err, "submodule") || said(err, "contains modified or untracked files") || said(err, "locked") {
		return &KeptError{Tree: t, Why: err.(*GitError).Said}
	}
	return wrapped(err)
}
