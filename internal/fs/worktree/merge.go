package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"waggle/spawn"
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
	Branch    string
	Commit    string   // where it is
	Checkouts []string // those that are on it
}

// BranchError: nothing is merged into that branch.
type BranchError struct {
	Branch, Why string
	Missing     bool // it does not exist
}

func (e *BranchError) Error() string { return fmt.Sprintf("branch %s %s", e.Branch, e.Why) }

// DirtyError: the merge changes files that have changes in no commit in a checkout that is on the
// target.
type DirtyError struct {
	Path, Branch string
	Files        []string
}

func (e *DirtyError) Error() string {
	return fmt.Sprintf("it changes what is not committed in %s, which is on %s: %s", e.Path, e.Branch, Some(e.Files))
}

// Some names the first ten of many files in a line, and how many there are besides.
func Some(files []string) string {
	first := files[:min(len(files), 10)]
	if n := len(files) - len(first); n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(first, ", "), n)
	}
	return strings.Join(first, ", ")
}

// ConflictError: two branches changed the same lines.
type ConflictError struct {
	Branch, Into string
	Files        []string
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s and %s conflict in %s", e.Branch, e.Into, Some(e.Files))
}

// MovedTargetError: the target has got other commits while its merge was checked.
type MovedTargetError struct{ Branch string }

func (e *MovedTargetError) Error() string {
	return e.Branch + " has moved meanwhile, so what was checked is not what it would be"
}

// Target finds the branch that the work of a worktree is to be merged into: into, or the branch that
// it came from. In the checkouts that are on it no operation of git may be in progress; what is not
// committed there does not matter here.
//
// Errors: *BranchError, *BusyError.
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
		if w.prunable || w.bare || w.branch != "" && w.branch != to.Branch {
			continue
		}
		if w.branch == "" { // on no branch, which git does while it rebases or bisects one
			if on, err := g.underway(ctx, w.path, to.Branch); err != nil {
				return to, err
			} else if on != "" {
				return to, &BusyError{w.path, on}
			}
			continue
		}
		to.Checkouts = append(to.Checkouts, w.path)
		if op, err := g.operation(ctx, w.path); err != nil {
			return to, err
		} else if op != "" {
			return to, &BusyError{w.path, op}
		}
	}
	return to, nil
}

// At is where a branch of a worktree's repository is, "" where there is none.
func (g Git) At(ctx context.Context, t Tree, branch string) (string, error) {
	return g.of(t.Common).commit(ctx, t.Common, refOf(branch))
}

// underway is the operation of git that a checkout on no branch has begun on a branch, to which it
// will return; "": none.
func (g Git) underway(ctx context.Context, dir, branch string) (string, error) {
	own, err := g.line(ctx, dir, "rev-parse", "--absolute-git-dir")
	if err != nil {
		return "", err
	}
	for _, f := range [][2]string{{"rebase-merge/head-name", "rebase"}, {"rebase-apply/head-name", "rebase"}, {"BISECT_START", "bisect"}} {
		b, err := os.ReadFile(filepath.Join(own, filepath.FromSlash(f[0])))
		if name := strings.TrimPrefix(strings.TrimSpace(string(b)), "refs/heads/"); err == nil && name == branch {
			return f[1], nil
		}
	}
	return "", nil
}

// Merging is what is to be merged.
type Merging struct {
	Tree   Tree
	Member string
	Into   string // a branch; "": the one that the worktree came from
	How    How
	Keep   bool // worktree and branch stay
	// Text is the message that a person gave for all commits; "": Commit and Merge are theirs.
	Text string
	// Commit is the message of the commit of what is in none, and of the one commit of HowSquash;
	// Merge that of a merge commit.
	Commit, Merge string
	At            time.Time
	// Check decides whether the result is taken. It gets a checkout of the result, which is removed
	// afterwards. nil: everything is.
	Check func(ctx context.Context, result Tree) error
}

// Merged is how far a merge came.
type Merged struct {
	Tip       Tip
	Before    string   // where the target was
	Commit    string   // where it is to be
	Changed   bool     // it is there; false: it had all of the work, or the merge failed
	Hooks     []string // that git ran
	Untouched int      // files that are in no commit in the checkouts that are on the target
}

// Merge merges the work of a worktree into a branch: it commits what is in no commit, makes the
// result in a scratch checkout of the target, has it checked there, and only then moves the branch
// and the files of the checkouts that are on it. What a person has not committed there stays, byte for
// byte, and the index too; a result that changes one of those files is refused. After any failure the
// branch and its checkouts are as they were. The hooks of the repository run, but not for the work of
// a confined member.
//
// The caller holds HoldMerges. After a success it removes the worktree and calls Settled. A merge
// that is killed meanwhile is an Intent, with which Continue or Abort begin.
//
// Errors: *OpenError, *BranchError, *BusyError, *DirtyError, *ConflictError, *MovedTargetError,
// *MismatchError, *GitError.
func (s Store) Merge(ctx context.Context, m Merging) (done Merged, err error) {
	if open, err := s.Intent(m.Tree); err != nil {
		return done, err
	} else if open != nil {
		return done, &OpenError{open}
	}
	to, err := s.Git.Target(ctx, m.Tree, m.Into)
	if err != nil {
		return done, err
	}
	by, err := spawn.Identify(os.Getpid())
	if err != nil {
		return done, err
	}
	i := &Intent{V: recordVersion, State: merging, By: by, At: m.At, Member: m.Member, Tree: m.Tree, Into: to.Branch, How: m.How, Keep: m.Keep, Text: m.Text,
		From: to.Commit, Mark: fmt.Sprintf("merge of %s, by process %d of waggle, %s\n", m.Tree.Branch, by.PID, m.At.UTC().Format(time.RFC3339Nano))}
	if err := s.putIntent(i); err != nil {
		return done, err
	}
	s.at("intent")
	if done, err = s.merge(ctx, m, to, i); err == nil || done.Changed {
		return done, err
	}
	ctx = context.WithoutCancel(ctx)
	there, rerr := s.recover(ctx, i)
	switch {
	case rerr != nil: // it stays on record, for a person
		return done, errors.Join(err, rerr)
	case there:
		done.Changed = true
		return done, errors.Join(err, s.arrived(ctx, i))
	}
	return done, errors.Join(err, s.takeBack(ctx, i))
}

// merge is Merge once its intent is on record.
func (s Store) merge(ctx context.Context, m Merging, to Target, i *Intent) (done Merged, err error) {
	done.Before = to.Commit
	if done.Tip, err = s.Git.Commit(ctx, m.Tree, m.Commit); err != nil {
		return done, err
	}
	i.Commit, i.Head, i.Files = done.Tip.Commit, done.Tip.head, done.Tip.tree
	if err := s.putIntent(i); err != nil {
		return done, err
	}
	s.at("committed")
	dir, err := s.scratch(ctx, m.Tree, to.Commit)
	if err != nil {
		return done, err
	}
	s.at("scratch")
	w := s.Git
	if m.Tree.own() {
		w = w.quiet()
	}
	if done.Hooks, err = w.combine(ctx, dir, m, done.Tip, to); err != nil {
		return done, err
	}
	if done.Commit, err = w.commit(ctx, dir, "HEAD"); err != nil {
		return done, err
	}
	s.at("combined")
	i.Result, i.Targets = done.Commit, to.Checkouts
	if done.Untouched, err = s.overlap(ctx, i); err != nil { // a check may take long: it is not begun in vain
		return done, err
	}
	if m.Check != nil && done.Commit != to.Commit {
		if err := s.check(ctx, m, to, dir, done.Commit); err != nil {
			return done, err
		}
		s.at("checked")
	}
	if done.Commit != to.Commit {
		var more []string
		more, done.Untouched, err = s.move(ctx, w, i)
		if done.Hooks = append(done.Hooks, more...); err != nil {
			return done, err
		}
		done.Changed = true
	}
	return done, s.arrived(ctx, i)
}

// arrived removes what a merge needed to make the result, once the target is at it.
func (s Store) arrived(ctx context.Context, i *Intent) error {
	i.State = settling
	if err := s.putIntent(i); err != nil {
		return err
	}
	s.at("moved")
	ctx = context.WithoutCancel(ctx)
	if err := s.Git.Recorded(ctx, i.Tree, i.Commit); err != nil {
		return err
	}
	return s.dropScratch(ctx, i.Tree)
}

// check has the result checked, in the scratch checkout; that of a confined member in one with a git
// directory of its own, as the member has, because the check may write to nothing else.
func (s Store) check(ctx context.Context, m Merging, to Target, dir, result string) error {
	t := Tree{Path: dir, Branch: to.Branch, Base: result, From: to.Branch, Repo: m.Tree.Repo, Common: m.Tree.Common}
	if m.Tree.own() {
		t.Path, t.Mirror = s.checkOwn(m.Tree)
		if err := os.Mkdir(t.Path, 0o700); err != nil {
			return fmt.Errorf("worktree: %w", noSpace(err))
		}
		if err := s.addOwn(ctx, t, result); err != nil {
			return noSpace(err)
		}
	}
	return m.Check(ctx, t)
}

// checkOwn is where the result of a confined member's merge is checked, and its mirror.
func (s Store) checkOwn(t Tree) (path, mirror string) {
	name := filepath.Base(t.Path)
	return filepath.Join(s.Dir, ".check-"+name), filepath.Join(s.Records, ".check-"+name+".git")
}

// scratchOf is the scratch checkout of a merge.
func (s Store) scratchOf(t Tree) string { return filepath.Join(s.Dir, ".merge-"+filepath.Base(t.Path)) }

// scratch makes a checkout of the target without a branch, beside the worktrees.
func (s Store) scratch(ctx context.Context, t Tree, at string) (string, error) {
	if err := s.dropScratch(ctx, t); err != nil { // of a merge that was killed
		return "", err
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return "", fmt.Errorf("worktree: %w", noSpace(err))
	}
	dir := s.scratchOf(t)
	return dir, noSpace(s.Git.of(t.Common).quiet().act(ctx, t.Common, "worktree", "add", "--quiet", "--detach", "--", dir, at))
}

// dropScratch removes the scratch checkouts of a merge, which may be half made.
func (s Store) dropScratch(ctx context.Context, t Tree) error {
	dir := s.scratchOf(t)
	all, err := s.Git.worktrees(ctx, t.Common)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(w listed) bool { return w.path == dir }) {
		if err := s.Git.of(t.Common).quiet().discard(ctx, t.Common, dir); err != nil {
			return err
		}
	}
	own, mirror := s.checkOwn(t)
	return wrapped(errors.Join(os.RemoveAll(dir), os.RemoveAll(own), os.RemoveAll(mirror)))
}

// combine makes the result in a scratch checkout of the target.
func (g Git) combine(ctx context.Context, dir string, m Merging, tip Tip, to Target) (hooks []string, err error) {
	switch m.How {
	case HowRebase:
		if err := g.quiet().act(ctx, dir, "checkout", "--quiet", "--detach", tip.Commit); err != nil {
			return nil, err
		}
		hooks, err = g.traced(ctx, dir, "-c", "rebase.autoStash=false", "-c", "rebase.updateRefs=false", "rebase", "--quiet", to.Commit)
	case HowSquash:
		if hooks, err = g.traced(ctx, dir, "merge", "--quiet", "--squash", tip.Commit); err != nil {
			break
		}
		if _, err = g.run(ctx, dir, "diff", "--cached", "--quiet"); err == nil {
			return hooks, nil // the target has it already
		} else if exit(err) != 1 {
			return hooks, err
		}
		w := g
		w.input = m.Merge
		var more []string
		more, err = w.traced(ctx, dir, "commit", "--quiet", "--cleanup=verbatim", "--file=-")
		hooks = append(hooks, more...)
	default:
		hooks, err = g.traced(ctx, dir, "merge", "--quiet", "--no-edit", "-m", m.Merge, tip.Commit)
	}
	if err == nil {
		return hooks, nil
	}
	out, lerr := g.run(ctx, dir, "diff", "--name-only", "-z", "--no-relative", "--diff-filter=U")
	if files := fields(out); lerr == nil && len(files) > 0 {
		return hooks, &ConflictError{m.Tree.Branch, to.Branch, files}
	}
	return hooks, err
}

// Continue prepares an interrupted merge for its end: it takes back what was half done, and the
// caller merges again with the same settings, or the target has the work already (Settling), and the
// caller removes the worktree and calls Settled. The caller holds HoldMerges.
//
// Errors: ErrNoMerge, *DirtyError when a person has changed files that were half moved, *GitError.
func (s Store) Continue(ctx context.Context, t Tree) (*Intent, error) {
	i, err := s.begun(t)
	if err != nil {
		return nil, err
	}
	if !i.Settling() {
		there, err := s.recover(ctx, i)
		if err != nil {
			return i, err
		}
		if i.Back || !there {
			return i, s.takeBack(ctx, i)
		}
	}
	return i, s.arrived(ctx, i)
}

// Abort takes an interrupted merge back: the target and its checkouts are as they were. Work that
// was committed in the worktree stays there. It is refused with an *OpenError once the worktree is
// being removed. The caller holds HoldMerges.
func (s Store) Abort(ctx context.Context, t Tree) (*Intent, error) {
	i, err := s.begun(t)
	if err != nil {
		return nil, err
	}
	if i.Settling() {
		return i, &OpenError{i}
	}
	there, err := s.recover(ctx, i)
	if err != nil {
		return i, err
	}
	if there != i.Back { // the target has the work
		back := *i
		if !i.Back {
			back.From, back.Result, back.Back = i.Result, i.From, true
		}
		if _, _, err := s.move(ctx, s.Git.quiet(), &back); err != nil {
			_, rerr := s.recover(ctx, &back)
			if rerr == nil {
				rerr = s.putIntent(i)
			}
			return i, errors.Join(err, rerr)
		}
	}
	return i, s.takeBack(ctx, i)
}

// takeBack removes everything of a merge whose target is where it was, and last its intent.
func (s Store) takeBack(ctx context.Context, i *Intent) error {
	if err := s.dropScratch(ctx, i.Tree); err != nil {
		return err
	}
	return s.Settled(ctx, i.Tree)
}
