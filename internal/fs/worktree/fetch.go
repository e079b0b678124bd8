package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"waggle/internal/fs/atomicfile"
)

// lastFetched is where the branch of the repository was put last, in the mirror.
const lastFetched = "refs/waggle/fetched"

// MovedError: the branch in the repository has commits that the member does not have.
type MovedError struct{ Branch, At string }

func (e *MovedError) Error() string {
	return fmt.Sprintf("branch %s is at %.12s, which the member has not: it is left as it is; merge it in the member's checkout, or rename the branch", e.Branch, e.At)
}

// Fetch brings the branch of a checkout with its own git directory into the repository, and reports
// whether it moved. Of a linked worktree there is nothing to bring. Objects are checked, no hook
// runs, and what the member has written is no configuration of any git that runs. The branch is
// moved from where Fetch or a person's fast-forward left it, else it is a *MovedError.
func (g Git) Fetch(ctx context.Context, t Tree) (moved bool, err error) {
	if !t.own() {
		return false, nil
	}
	k, release, err := g.take(ctx, t)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, release()) }()
	tip := k.tip(t)
	if tip == "" {
		return false, nil // the member has deleted it: the repository keeps what it has
	}
	b := g.bare(t)
	now, err := g.At(ctx, t, t.Branch)
	if err != nil || now == tip {
		return false, err
	}
	last, err := b.commit(ctx, t.Mirror, lastFetched)
	if err != nil {
		return false, err
	}
	if now != "" && now != last && now != t.Base {
		if _, err := b.run(ctx, t.Mirror, "merge-base", "--is-ancestor", now, tip); err != nil {
			return false, &MovedError{t.Branch, now}
		}
	}
	err = g.bring(ctx, t, refOf(t.Branch), refOf(t.Branch))
	if said(err, "fsck error") {
		err = fmt.Errorf("git refuses a commit of %s as malformed: it and all after it are in the member's checkout alone; commit it anew there (git commit --amend, git rebase): %w", t.Branch, err)
	}
	if err != nil {
		return false, err
	}
	_, err = b.run(ctx, t.Mirror, "update-ref", lastFetched, tip)
	return err == nil, err
}

// bring brings a reference of the mirror into the repository, as another one. Objects are checked.
func (g Git) bring(ctx context.Context, t Tree, from, to string) error {
	repo := g.of(t.Common)
	repo.options = append(slices.Clone(hardened), "-c", "fetch.fsckObjects=true")
	return repo.act(ctx, t.Common, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head",
		"--no-recurse-submodules", "--no-auto-maintenance", "--", t.Mirror, "+"+from+":"+to)
}

// bringCommit brings a commit that no reference of the mirror has into the repository, by one of both.
func (g Git) bringCommit(ctx context.Context, t Tree, commit, from, to string) error {
	if _, err := g.bare(t).run(ctx, t.Mirror, "update-ref", from, commit); err != nil {
		return err
	}
	return g.bring(ctx, t, from, to)
}

// mirrorWait is how long another reader of a checkout is waited for.
const mirrorWait = time.Minute

// take takes the lock of a tree's mirror, so that one process at a time reads the checkout, and collects.
func (g Git) take(ctx context.Context, t Tree) (k taken, release func() error, err error) {
	release, err = atomicfile.Flock(ctx, filepath.Join(t.Mirror, "waggle.lock"), atomicfile.Options{Deadline: mirrorWait})
	if err != nil {
		return k, nil, fmt.Errorf("worktree: %w", err)
	}
	if k, err = g.collect(ctx, t); err != nil {
		err = errors.Join(err, release())
	}
	return k, release, err
}

// updateRef changes a reference of the repository, and runs no hook.
func (g Git) updateRef(ctx context.Context, t Tree, args ...string) error {
	repo := g.of(t.Common)
	repo.options = hardened
	_, err := repo.run(ctx, t.Common, append([]string{"update-ref"}, args...)...)
	return err
}

// base brings what is compared with into the mirror: the branch that the checkout came from, and the
// branches of remotes. Their objects are the repository's.
func (g Git) base(ctx context.Context, t Tree) (from string, err error) {
	b := g.bare(t)
	if _, err := b.run(ctx, t.Mirror, "fetch", "--quiet", "--prune", "--no-tags", "--no-write-fetch-head", "--", t.Common, "+refs/remotes/*:refs/repository/remotes/*"); err != nil {
		return "", err
	}
	if t.From == "" {
		return "", nil
	}
	return g.At(ctx, t, t.From)
}

// statusOwn is Status of a checkout with its own git directory. A directory that does not exist has
// the status of its branch in the repository.
func (g Git) statusOwn(ctx context.Context, t Tree, s *Status) (err error) {
	if s.Missing {
		if err := g.commits(ctx, t, "", s); err != nil || len(s.Commits) > 0 {
			return err
		}
		if _, err := os.Lstat(t.Mirror); err != nil {
			return nil
		}
		return g.ownCommits(ctx, t, taken{}, s) // of its other branches
	}
	k, release, err := g.take(ctx, t)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	p := g.private(t)
	if err := p.index(ctx, t, k); err != nil {
		return err
	}
	if err := p.changes(ctx, t.Path, s); err != nil {
		return err
	}
	s.Branch = k.branch
	if err := p.submodulesOwn(ctx, t, s); err != nil {
		return err
	}
	s.Operation = operationIn(t.gitDir())
	if k.heads["refs/stash"] != "" {
		s.Stashes = append(s.Stashes, "its own, "+k.heads["refs/stash"])
	}
	return g.ownCommits(ctx, t, k, s)
}

// ownFiles is linkedFiles for a checkout with a git directory of its own: it returns a git with the mirror's index, the
// commit that the checkout is at, and where the branch is that it came from, "" for none. It holds the mirror until done.
func (g Git) ownFiles(ctx context.Context, t Tree) (at Git, head, from string, done func() error, err error) {
	k, done, err := g.take(ctx, t)
	if err != nil {
		return g, "", "", nil, err
	}
	at = g.private(t)
	if from, err = g.base(ctx, t); err == nil {
		err = at.index(ctx, t, k)
	}
	if err != nil {
		err = errors.Join(err, done())
	}
	return at, k.head, from, done, err
}

// index makes the mirror's index that of the checkout's commit, and what it ignores that of the
// repository now. What the member has staged counts as changed.
func (g Git) index(ctx context.Context, t Tree, k taken) error {
	if err := g.ignore(ctx, t.Common, t.Mirror); err != nil {
		return err
	}
	if k.head == "" {
		_, err := g.run(ctx, t.Path, "read-tree", "--empty")
		return err
	}
	_, err := g.run(ctx, t.Path, "read-tree", "--reset", k.head)
	return err
}

// ownCommits fills in the commits of any branch of the member's that are nowhere else.
func (g Git) ownCommits(ctx context.Context, t Tree, k taken, s *Status) error {
	from, err := g.base(ctx, t)
	if err != nil {
		return err
	}
	tips := []string{"--branches"}
	if k.head != "" {
		tips = append(tips, k.head)
	}
	not := []string{"--not", t.Base}
	if from != "" {
		not = append(not, from)
	}
	return g.bare(t).log(ctx, t.Mirror, append(append(tips, not...), "--glob=refs/repository/remotes/*"), s)
}
