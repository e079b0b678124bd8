package worktree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Refused is a merge of a worktree's branch that changed nothing.
type Refused struct {
	Why  string    `json:"why"`
	Into string    `json:"into"` // the branch that it was for; "": none was found
	Tip  string    `json:"tip"`  // where the branch was
	At   time.Time `json:"at"`
}

// Refused returns why the last merge of a worktree's branch changed nothing. It is nil after a merge
// that did, without a merge, and once the branch is elsewhere or gone.
func (s Store) Refused(ctx context.Context, t Tree) (*Refused, error) {
	r, err := s.LastRefused(t)
	if r == nil || err != nil {
		return nil, err
	}
	tip, err := s.tip(ctx, t)
	if err != nil || tip != r.Tip {
		return nil, err
	}
	return r, nil
}

// LastRefused is Refused also where the branch has changed since.
func (s Store) LastRefused(t Tree) (*Refused, error) {
	r, err := s.read(filepath.Base(t.Path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil || r.Tree.Path != t.Path {
		return nil, err
	}
	return r.Refused, nil
}

// tip is where the branch of a worktree is in the repository, "" where it is not there. It reads the
// files of git, because a run of git takes longer than a status bar may, and runs git where the
// branch is not in them as expected: in a reftable, or behind another name.
func (s Store) tip(ctx context.Context, t Tree) (string, error) {
	if r, err := openRefs(t.Common); err == nil {
		defer r.close()
		if tip, err := r.branch(t.Branch); err == nil && isBranch(t.Branch) {
			return tip, nil
		}
	}
	return s.Git.At(ctx, t, t.Branch)
}

// SetRefused records that a merge changed nothing, with where the branch is; nil: that none is
// refused now.
func (s Store) SetRefused(ctx context.Context, t Tree, refused *Refused) error {
	return s.with(ctx, t, func(r Record) (err error) {
		if refused == nil && r.Refused == nil {
			return nil
		}
		if refused != nil {
			now := *refused
			if now.Tip, err = s.Git.At(ctx, t, t.Branch); err != nil {
				return err
			}
			refused = &now
		}
		r.Refused = refused
		return s.put(r)
	})
}

// Gone reports that neither the directory of a worktree nor its branch exists any more.
func (s Store) Gone(ctx context.Context, t Tree) (bool, error) {
	if _, err := os.Lstat(t.Path); !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	tip, err := s.Git.At(ctx, t, t.Branch)
	return err == nil && tip == "", err
}
