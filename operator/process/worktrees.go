package process

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"waggle"
	"waggle/control"
	"waggle/internal/worktree"
	"waggle/operator"
	"waggle/record"
)

// worktrees returns the store of a team's worktrees. It is not in STATE, which members' tools must
// not see. Without git it still lists the recorded worktrees.
func (o Operator) worktrees(s *operator.State) worktree.Store {
	st := worktree.Store{Records: s.Dir.Worktrees(), Dir: filepath.Join(o.Worktrees, filepath.Base(s.Dir.Path)),
		Aside: func(path string) error { return o.SetAside(s, path) }}
	if g, err := worktree.Find(o.Environ); err == nil {
		st.Git = g
	}
	return st
}

// DropWorktree removes a worktree without changes.
func (o Operator) DropWorktree(ctx context.Context, s *operator.State, tree *record.Worktree) error {
	return o.worktrees(s).Remove(ctx, worktree.Tree(*tree))
}

// NewWorktree makes a member's worktree from the checkout that cwd is in. dir is the same directory
// in it.
func (o Operator) NewWorktree(ctx context.Context, s *operator.State, name waggle.MemberName, i record.Instance, cwd string) (tree *record.Worktree, dir string, err error) {
	if o.Worktrees == "" {
		return nil, "", &operator.Error{Kind: operator.Usage, Op: "worktree", Msg: fmt.Sprintf("%s wants a worktree, and there is no place for one: HOME is not set", name), Advice: "set WAGGLE_WORKTREES to a directory"}
	}
	t, dir, err := o.worktrees(s).Create(ctx, worktree.Want{Team: string(s.Team), Member: string(name), Owner: string(i), Cwd: cwd})
	if err != nil {
		return nil, "", worktreeError(name, err)
	}
	return (*record.Worktree)(&t), dir, nil
}

// worktreeError adds to an error why a member has no worktree, and the next step.
func worktreeError(name waggle.MemberName, err error) error {
	hint := ""
	var there *worktree.ExistsError
	var wrong *worktree.MismatchError
	switch {
	case errors.Is(err, worktree.ErrNoGit):
		hint = "install git, or take worktree: true away: the members then share the checkout"
	case errors.Is(err, worktree.ErrNotRepository):
		hint = "git init makes one; the member's cwd says in which checkout it works"
	case errors.Is(err, worktree.ErrBare):
		hint = "let the member's cwd be a checkout of it"
	case errors.Is(err, worktree.ErrNoCommit):
		hint = "commit first: a worktree begins at a commit"
	case errors.Is(err, worktree.ErrNoSpace):
		hint = "make room, or let WAGGLE_WORKTREES be on another disk"
	case errors.Is(err, worktree.ErrInside):
		hint = "let WAGGLE_WORKTREES be a directory outside of it"
	case errors.As(err, &there):
		hint = "look what it is, and move it away"
	case errors.As(err, &wrong):
		hint = "look with git worktree list, and put it right"
	}
	return &operator.Error{Kind: operator.Failed, Op: "worktree", Msg: fmt.Sprintf("no worktree for %s: %v", name, err), Advice: hint, Err: err}
}

// WorktreeView is a member's worktree.
type WorktreeView struct {
	Path   string
	Branch string
	Base   string // the commit that it began at
}

// ViewWorktree returns a member's worktree in the form of status, nil where it has none.
func ViewWorktree(t *record.Worktree) *WorktreeView {
	if t == nil {
		return nil
	}
	return &WorktreeView{Path: t.Path, Branch: t.Branch, Base: t.Base}
}

// keptShown is how many files and commits of a kept worktree are named.
const keptShown = 10

// settleWorktrees removes the worktrees without changes of members that have left, and returns the
// others, which it keeps. It may be called at any time and again. It does not touch a join in
// progress as long as the team has not ended. only is the one member to handle; "": all.
func (o Operator) settleWorktrees(ctx context.Context, s *operator.State, only record.Instance) ([]operator.KeptWorktree, error) {
	kept := []operator.KeptWorktree{}
	store := o.worktrees(s)
	store.Wait = endPatience // a locked worktree is kept
	recs, err := store.List()
	if err != nil {
		return kept, err
	}
	for _, r := range recs {
		m, ok := s.Lead.ByInstance(record.Instance(r.Owner))
		if ok && m.Left == nil || !ok && s.Lead.Ended == nil || only != "" && only != record.Instance(r.Owner) || worksIn(s, r.Tree.Path) {
			continue
		}
		err := store.Remove(ctx, r.Tree)
		var unknown *worktree.UnknownError
		if err == nil || errors.As(err, &unknown) { // another process has removed it
			continue
		}
		k := operator.KeptWorktree{Member: r.Member, Path: r.Tree.Path, Branch: r.Tree.Branch, Why: err.Error(), Files: []string{}, Owner: record.Instance(r.Owner)}
		var work *worktree.KeptError
		if errors.As(err, &work) {
			if k.Why = work.Why; k.Why == "" {
				k.Why = work.Status.String()
			}
			for _, l := range work.Status.Lines(keptShown) {
				k.Files = append(k.Files, strings.ToValidUTF8(l, "\uFFFD"))
			}
		}
		kept = append(kept, k)
	}
	return kept, nil
}

// worksIn reports a worktree that a present member has from an earlier instance of it.
func worksIn(s *operator.State, path string) bool {
	return slices.ContainsFunc(s.Lead.Live(), func(m *control.Member) bool { return m.Worktree != nil && m.Worktree.Path == path })
}

// TidyWorktrees removes the worktrees without changes of members that have left, and notes those
// that it kept.
func (o Operator) TidyWorktrees(ctx context.Context, t *Reporter) (err error) {
	t.S.Kept, err = o.settleWorktrees(ctx, t.S, "")
	t.S.Tidied = err == nil && t.To != nil
	t.kept(t.S.Kept)
	return err
}

// kept notes worktrees that were kept.
func (t *Reporter) kept(kept []operator.KeptWorktree) {
	for _, k := range kept {
		t.Once("kept "+k.Path, operator.Note{What: operator.NoteKept, Member: k.Member, Text: k.String()})
	}
}

// settleEnded is TidyWorktrees when a team is archived whose end was not reported to any person.
func (o Operator) settleEnded(ctx context.Context, s *operator.State) {
	if s.Tidied {
		return
	}
	kept, err := o.settleWorktrees(ctx, s, "")
	if o.Log == nil {
		return
	}
	if err != nil {
		o.Log.Warn("worktrees are not tidied", "team", s.Team, "err", err)
	}
	for _, k := range kept {
		o.Log.Warn("worktree kept", "member", k.Member, "why", k.Why, "path", k.Path)
	}
}
