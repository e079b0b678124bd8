package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"waggle/internal/atomicfile"
)

// How a member's commits come into a branch.
type How string

// The ways to merge.
const (
	HowMerge  How = "merge"
	HowSquash How = "squash"
	HowRebase How = "rebase"
)

// Target is a branch that something is merged into.
type Target struct {
	Branch   string
	Commit   string // where it is
	Checkout string // the checkout that is on it; "": none
}

// BranchError: nothing is merged into that branch.
type BranchError struct {
	Branch, Why string
	Missing     bool // it does not exist
}

func (e *BranchError) Error() string { return fmt.Sprintf("branch %s %s", e.Branch, e.Why) }

// DirtyError: the checkout that is on the target has changes that are not committed.
type DirtyError struct {
	Path, Branch string
	Status       Status
}

func (e *DirtyError) Error() string {
	return fmt.Sprintf("%s, which is on %s, is not clean: %s", e.Path, e.Branch, e.Status)
}

// ConflictError: two branches changed the same lines.
type ConflictError struct {
	Branch, Into string
	Files        []string
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s and %s conflict in %s", e.Branch, e.Into, strings.Join(e.Files, ", "))
}

// Target finds the branch that the work of a worktree is to be merged into: into, or the branch that
// it came from. The checkout that is on it must be clean.
//
// Errors: *BranchError, *DirtyError, *BusyError.
func (g Git) Target(ctx context.Context, t Tree, into string) (Target, error) {
	if into == "" {
		into = t.From
	}
	to := Target{Branch: strings.TrimPrefix(into, "refs/heads/")}
	switch to.Branch {
	case "":
		return to, &BranchError{Branch: t.Branch, Why: "was made from no branch, so it is not known where it belongs"}
	case t.Branch:
		return to, &BranchError{Branch: to.Branch, Why: "is the member's own"}
	}
	repo := g.of(t.Common)
	var err error
	if to.Commit, err = repo.commit(ctx, t.Common, refOf(to.Branch)); err != nil {
		return to, err
	}
	if to.Commit == "" {
		return to, &BranchError{Branch: to.Branch, Why: "does not exist in " + t.Repo, Missing: true}
	}
	all, err := g.worktrees(ctx, t.Common)
	if err != nil {
		return to, err
	}
	for _, w := range all {
		if w.branch == to.Branch && !w.prunable {
			to.Checkout = w.path
		}
	}
	return to, g.clean(ctx, to)
}

// clean refuses a checkout with changes of tracked files, or with an operation in progress.
func (g Git) clean(ctx context.Context, to Target) error {
	if to.Checkout == "" {
		return nil
	}
	var st Status
	if err := g.files(ctx, Tree{Path: to.Checkout}, &st); err != nil {
		return err
	}
	if st.Operation != "" {
		return &BusyError{to.Checkout, st.Operation}
	}
	st.Untracked = nil // git refuses by itself to overwrite them
	if len(st.Changed) > 0 {
		return &DirtyError{to.Checkout, to.Branch, st}
	}
	return nil
}

// Merging is what is to be merged.
type Merging struct {
	Tree    Tree
	Tip     Tip
	Into    Target
	How     How
	Message string // of a merge commit, or of the one commit of HowSquash
}

// Merged is how the target was changed.
type Merged struct {
	Commit  string   // where the target is now
	Changed bool     // false: it had all of it
	Hooks   []string // that git ran
}

// Merge merges a commit into a branch. It makes the result in a scratch checkout and moves the
// branch only to a whole result, so any failure leaves the branch and its checkout as they are. The
// hooks of the repository run, but not for the work of a confined member.
//
// Errors: *ConflictError, *GitError.
func (s Store) Merge(ctx context.Context, m Merging) (done Merged, err error) {
	if err := os.MkdirAll(s.Records, 0o700); err != nil {
		return done, fmt.Errorf("worktree: %w", err)
	}
	release, err := atomicfile.Flock(ctx, filepath.Join(s.Records, "merge.lock"), atomicfile.Options{Deadline: lockWait, Aside: s.Records})
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, release()) }()
	dir, err := s.scratch(ctx, m)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, s.dropScratch(context.WithoutCancel(ctx), m.Tree, dir)) }()
	w := s.Git
	if m.Tree.own() {
		w.options = append(slices.Clone(w.options), noHooks...)
	}
	if done.Hooks, err = w.combine(ctx, dir, m); err != nil {
		return done, err
	}
	if done.Commit, err = w.commit(ctx, dir, "HEAD"); err != nil || done.Commit == m.Into.Commit {
		return done, err
	}
	more, err := w.forward(ctx, m, done.Commit)
	done.Changed, done.Hooks = err == nil, append(done.Hooks, more...)
	return done, err
}

// scratch makes a checkout of the target without a branch, beside the worktrees.
func (s Store) scratch(ctx context.Context, m Merging) (string, error) {
	dir := filepath.Join(s.Dir, ".merge-"+filepath.Base(m.Tree.Path))
	if err := s.dropScratch(ctx, m.Tree, dir); err != nil { // of a merge that was killed
		return "", err
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return "", fmt.Errorf("worktree: %w", noSpace(err))
	}
	quiet := s.Git.of(m.Tree.Common)
	quiet.options = noHooks
	err := quiet.act(ctx, m.Tree.Common, "worktree", "add", "--quiet", "--detach", "--", dir, m.Into.Commit)
	if err != nil {
		return "", errors.Join(noSpace(err), s.dropScratch(context.WithoutCancel(ctx), m.Tree, dir))
	}
	return dir, nil
}

// dropScratch removes a scratch checkout, which may be half made.
func (s Store) dropScratch(ctx context.Context, t Tree, dir string) error {
	all, err := s.Git.worktrees(ctx, t.Common)
	if err != nil {
		return err
	}
	quiet := s.Git.of(t.Common)
	quiet.options = noHooks
	if slices.ContainsFunc(all, func(w listed) bool { return w.path == dir }) {
		if _, err := quiet.run(ctx, t.Common, "worktree", "remove", "--force", "--force", "--", dir); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("worktree: %w", err)
	}
	return nil
}

// combine makes the result in a scratch checkout of the target.
func (g Git) combine(ctx context.Context, dir string, m Merging) (hooks []string, err error) {
	switch m.How {
	case HowRebase:
		quiet := g
		quiet.options = append(slices.Clone(g.options), noHooks...)
		if err := quiet.act(ctx, dir, "checkout", "--quiet", "--detach", m.Tip.Commit); err != nil {
			return nil, err
		}
		hooks, err = g.traced(ctx, dir, "-c", "rebase.autoStash=false", "-c", "rebase.updateRefs=false", "rebase", "--quiet", m.Into.Commit)
	case HowSquash:
		if hooks, err = g.traced(ctx, dir, "merge", "--quiet", "--squash", m.Tip.Commit); err != nil {
			break
		}
		if _, err = g.run(ctx, dir, "diff", "--cached", "--quiet"); err == nil {
			return hooks, nil // the target has it already
		} else if exit(err) != 1 {
			return hooks, err
		}
		w := g
		w.input = m.Message
		var more []string
		more, err = w.traced(ctx, dir, "commit", "--quiet", "--cleanup=verbatim", "--file=-")
		hooks = append(hooks, more...)
	default:
		hooks, err = g.traced(ctx, dir, "merge", "--quiet", "--no-edit", "-m", m.Message, m.Tip.Commit)
	}
	if err == nil {
		return hooks, nil
	}
	out, lerr := g.run(ctx, dir, "diff", "--name-only", "-z", "--no-relative", "--diff-filter=U")
	if files := fields(out); lerr == nil && len(files) > 0 {
		return hooks, &ConflictError{m.Tree.Branch, m.Into.Branch, files}
	}
	return hooks, err
}

// forward moves the target to a result that contains it.
func (g Git) forward(ctx context.Context, m Merging, to string) (hooks []string, err error) {
	if m.Into.Checkout == "" {
		_, err := g.of(m.Tree.Common).run(ctx, m.Tree.Common, "update-ref", "-m", "waggle: merge "+m.Tree.Branch, refOf(m.Into.Branch), to, m.Into.Commit)
		return nil, err
	}
	if err := g.clean(ctx, m.Into); err != nil {
		return nil, err
	}
	if on, err := g.branch(ctx, m.Into.Checkout); err != nil {
		return nil, err
	} else if on != m.Into.Branch {
		return nil, &MismatchError{"branch", orNone(on), m.Into.Branch}
	}
	return g.traced(ctx, m.Into.Checkout, "merge", "--quiet", "--ff-only", to)
}
