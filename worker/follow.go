package worker

import (
	"context"
	"fmt"
	"time"

	"waggle/internal/fs/worktree"
	"waggle/mailbox"
	"waggle/record"
)

const (
	// settle is how long after a sign of a commit the branch is read: git writes its log before the branch,
	// and a rebase makes many commits.
	settle = 200 * time.Millisecond
	// followEvery is how often the branch is read without a sign: a file system may give none.
	followEvery = 10 * time.Second
)

// follower fetches a member's branch into the repository soon after each commit in a checkout with a git
// directory of its own. nil: there is none. The function returns when ctx ends, and tells each error, or nil.
func follower(o Options, t *record.Worktree) func(ctx context.Context, tell func(error)) error {
	if t == nil || t.Mirror == "" {
		return nil
	}
	tree := worktree.Tree(*t)
	return func(ctx context.Context, tell func(error)) error {
		g, err := worktree.Find(o.Environ)
		if err != nil {
			return err
		}
		dirs, match := tree.Watched()
		signs, err := mailbox.Watch(ctx, mailbox.WatchOptions{Interval: followEvery, Match: match}, dirs...)
		if err != nil {
			return err
		}
		return follow(ctx, o.Minter.Now, signs, t.Base, tree.At, func() error {
			// A git that is killed leaves its locks in the repository.
			return fetch(context.WithoutCancel(ctx), g, tree)
		}, tell)
	}
}

// fetch brings a member's branch into the repository.
func fetch(ctx context.Context, g worktree.Git, tree worktree.Tree) error {
	if _, err := g.Fetch(ctx, tree); err != nil {
		return fmt.Errorf("the member's branch is not in the repository yet: %w", err)
	}
	return nil
}

// follow calls fetch when a sign came and the branch is elsewhere than at the last fetch. It pauses four times
// as long as that took: a member that commits without end uses a fifth of a processor with it.
func follow(ctx context.Context, now func() time.Time, signs <-chan struct{}, last string, at func() (string, error), fetch func() error, tell func(error)) error {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-pause.C:
		}
		began := now()
		if tip, err := at(); err == nil && tip != last { // what is wrong with it, the end of the turn says
			last = tip
			tell(fetch())
		}
		took := now().Sub(began)
		select {
		case <-ctx.Done():
			return nil
		case _, ok := <-signs:
			if !ok {
				return nil
			}
		}
		pause.Reset(max(settle, 4*took))
	}
}

// follow runs Follow, whose errors are those of bring.
func (w *Worker) follow(ctx context.Context) {
	err := w.p.Follow(ctx, func(err error) {
		w.trouble.Note("branch", err, "a commit is not in the repository, will retry after the turn")
	})
	w.trouble.Note("follow", err, "commits come into the repository after each turn only")
}
