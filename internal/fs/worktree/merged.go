package worktree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// RemoveMerged removes a worktree whose work is in another branch, and its branch. It is kept, with
// a *KeptError, when it holds anything besides that work. The branch stays when it has commits that
// the work has not.
func (s Store) RemoveMerged(ctx context.Context, t Tree, tip Tip) (err error) {
	release, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	r, found, err := s.record(filepath.Base(t.Path))
	if err == nil && found && r.Tree.Path == t.Path && r.State != making {
		err = s.removeMerged(ctx, r, tip)
	}
	if err != nil {
		return err
	}
	kept, err := s.dropBranch(ctx, t, tip.Commit)
	if err == nil && kept != "" {
		err = &KeptError{Tree: t, Why: kept}
	}
	if err != nil {
		return err
	}
	return s.Git.dropTurns(ctx, t)
}

func (s Store) removeMerged(ctx context.Context, r Record, tip Tip) error {
	t := r.Tree
	if _, err := os.Lstat(t.Path); errors.Is(err, fs.ErrNotExist) && t.own() {
		return s.forget(r)
	}
	st, err := s.Git.Status(ctx, t)
	if err != nil {
		return err
	}
	unchanged := s.unchanged
	if t.own() {
		unchanged = s.unchangedOwn
	}
	if err := unchanged(ctx, t, tip, &st); err != nil {
		return err
	}
	if !st.Clean() {
		return &KeptError{Tree: t, Status: st}
	}
	r.State = removing
	if err := s.put(r); err != nil {
		return err
	}
	if err := s.drop(ctx, t, false); err != nil {
		return err
	}
	return s.forget(r)
}

// unchanged takes out of a status what was merged.
func (s Store) unchanged(ctx context.Context, t Tree, tip Tip, st *Status) error {
	at := st.Head
	if st.Missing {
		is, err := s.Git.listed(ctx, t)
		if err != nil {
			return err
		}
		at = is.head
	} else if err := s.Git.hidden(ctx, t, ".", st); err != nil {
		return err
	}
	st.Commits, st.cutCommits = nil, false
	if at != "" && at != tip.Commit {
		return s.Git.of(t.Common).log(ctx, t.Common, []string{at, "--not", tip.Commit}, st)
	}
	return nil
}

// unchangedOwn is unchanged for a checkout with a git directory of its own: its files are the same
// as those of the merged commit.
func (s Store) unchangedOwn(ctx context.Context, t Tree, tip Tip, st *Status) (err error) {
	k, release, err := s.Git.take(ctx, t)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	tree, err := s.Git.treeOwn(ctx, t, k)
	if err != nil {
		return err
	}
	if tree == tip.tree && (k.head == tip.head || k.head == tip.Commit) {
		st.Changed, st.Untracked, st.cutFiles = nil, nil, false
	}
	st.Commits, st.cutCommits = nil, false
	at := []string{"--branches"}
	if k.head != "" { // of no branch, perhaps
		at = append(at, k.head)
	}
	return s.Git.bare(t).log(ctx, t.Mirror, append(at, "--not", tip.Commit, t.Base), st)
}
