package results

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"waggle/internal/worktree"
	"waggle/operator"
	"waggle/operator/board"
	"waggle/operator/process"
)

// How is how commits come into a branch.
type How string

// The ways to merge.
const (
	HowMerge  How = "merge"
	HowSquash How = "squash"
	HowRebase How = "rebase"
)

// Confine wraps a command for the sandbox of a directory; the function that it returns ends the sandbox.
type Confine func(ctx context.Context, tree string, c Command) (Command, func() error, error)

// MergeOptions are the settings of Merge.
type MergeOptions struct {
	Into    string // a branch; "": the one that the worktree was made from
	How     How    // "": HowMerge
	Keep    bool   // keep the worktree, its branch and the member
	Message string // of the commits that are made; "": the member's newest task
	Grace   time.Duration
	// Confine wraps a command for the sandbox of a directory; it is used for the check of a confined
	// member, and nil refuses that.
	Confine Confine
	// Output gets what the check writes; nil: nobody.
	Output io.Writer
	// Note gets the steps; may be nil.
	Note func(operator.Note)
}

// Merged is how far a merge came. Into is changed only where Changed is set.
type Merged struct {
	Team   string
	Member string
	Branch string
	Into   string
	How    How
	Commit string // of all work
	// Message is the message of the commit that was made of Files, which were in no commit.
	Message  string
	Files    []string
	Check    *Checked // nil: the team file has none
	Result   string   // where Into is now
	Changed  bool     // false: Into is as it was
	Hooks    []string // the hooks of the repository that git ran
	NoHooks  string   // why they were not to run; "": they were
	Conflict []string // the files in which both changed the same lines
	Task     string   // the task that hands the conflict back to the member; "": none
	Stopped  bool     // the member was stopped
	Removed  bool     // worktree and branch
	Kept     string   // why they are kept
}

// Merge merges a member's work into a branch. It commits what is not committed, runs the check of
// the team file in the worktree, merges, and then removes worktree and branch. A member that is
// still there and has no task is stopped for that. After any failure the branch and its checkout are
// as they were. A conflict becomes a task of the member. The result is not nil when the work was
// begun.
//
// A merge that changed nothing is on record with the worktree until one succeeds or the branch
// changes: process.Operator.RefusedOf reads it, for every face.
func (o Operator) Merge(ctx context.Context, of, member string, mo MergeOptions) (m *Merged, err error) {
	w, check, into, err := o.mergeable(ctx, of, member, mo)
	if unclean(err) {
		return nil, o.refuse(ctx, w, into.Branch, err)
	}
	if err == nil {
		err = o.refuse(ctx, w, "", nil)
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil && !m.Changed {
			err = o.refuse(ctx, w, m.Into, err)
		}
	}()
	mo.How = cmp.Or(mo.How, HowMerge)
	m = &Merged{Team: string(w.s.Team), Member: w.name(), Branch: w.tree.Branch, Into: into.Branch, How: mo.How, Files: []string{}, Hooks: []string{}, Conflict: []string{}, Result: into.Commit}
	if w.confined() {
		m.NoHooks = w.name() + " is confined, and hooks would run its files outside of the sandbox"
	}
	tip, err := w.commit(ctx, m, mo)
	if err != nil {
		return m, explained(op, err)
	}
	defer func() {
		if derr := w.store.Git.Drop(context.WithoutCancel(ctx), w.tree, tip); derr != nil && m.Kept == "" {
			m.Kept = derr.Error()
		}
	}()
	if m.Check, err = o.check(ctx, w, check, mo); err != nil {
		return m, err
	}
	if err := o.merge(ctx, w, m, tip, into, mo); err != nil {
		return m, err
	}
	o.settle(ctx, w, m, tip, mo)
	return m, nil
}

const op = "merge"

// unclean reports a target that takes no merge now.
func unclean(err error) bool {
	var dirty *worktree.DirtyError
	var busy *worktree.BusyError
	return errors.As(err, &dirty) || errors.As(err, &busy)
}

// refuse records why a merge changed nothing, and returns that; without a reason it removes the
// record of the one before. Of a merge that somebody broke off there is none.
func (o Operator) refuse(ctx context.Context, w *work, into string, why error) error {
	if ctx.Err() != nil {
		return why
	}
	var refused *worktree.Refused
	if why != nil {
		refused = &worktree.Refused{Why: strings.ReplaceAll(why.Error(), "\n", "; "), Into: into, At: o.Minter.Now()}
	}
	err := w.store.SetRefused(ctx, w.tree, refused)
	var unknown *worktree.UnknownError
	if err == nil || errors.As(err, &unknown) { // removed meanwhile: there is nothing to merge
		return why
	}
	return errors.Join(why, err)
}

// mergeable finds a member's work, the check and the branch of a merge, and refuses what cannot be
// merged now.
func (o Operator) mergeable(ctx context.Context, of, member string, mo MergeOptions) (w *work, check Checked, into worktree.Target, err error) {
	if w, err = o.find(ctx, op, of, member); err != nil {
		return w, check, into, err
	}
	if err = o.Guard(ctx, w.s, op); err != nil {
		return w, check, into, err
	}
	if err = w.working(op); err != nil {
		return w, check, into, err
	}
	if check, err = o.checkOf(w); err != nil {
		return w, check, into, err
	}
	into, err = w.store.Git.Target(ctx, w.tree, mo.Into)
	return w, check, into, explained(op, err)
}

// MergePlan is what a merge would do.
type MergePlan struct {
	Team, Member string
	Into         string
	How          How
	Check        string // a shell text, which runs first; "": none
	Diff         *Diff  // what would be merged
}

// PlanMerge refuses what Merge refuses, and returns what Merge would do. It changes nothing.
func (o Operator) PlanMerge(ctx context.Context, of, member string, mo MergeOptions) (*MergePlan, error) {
	w, check, into, err := o.mergeable(ctx, of, member, mo)
	if err != nil {
		return nil, err
	}
	d, err := w.diff(ctx, op)
	if err != nil {
		return nil, err
	}
	return &MergePlan{Team: string(w.s.Team), Member: w.name(), Into: into.Branch, How: cmp.Or(mo.How, HowMerge), Check: check.Command, Diff: d}, nil
}

// commit makes one commit of all work.
func (w *work) commit(ctx context.Context, m *Merged, mo MergeOptions) (worktree.Tip, error) {
	message := w.about()
	if mo.Message != "" {
		message = strings.TrimSpace(mo.Message) + "\n"
	}
	tip, err := w.store.Git.Commit(ctx, w.tree, message)
	if err != nil {
		return tip, err
	}
	m.Commit, m.Hooks = tip.Commit, append(m.Hooks, tip.Hooks...)
	if tip.Made {
		m.Message, m.Files = message, tip.Files
	}
	return tip, nil
}

func note(to func(operator.Note), w *work, what, text string) {
	if to != nil {
		to(operator.Note{What: what, Member: w.name(), Text: text})
	}
}

// merge changes the target, or hands a conflict back.
func (o Operator) merge(ctx context.Context, w *work, m *Merged, tip worktree.Tip, into worktree.Target, mo MergeOptions) error {
	message := fmt.Sprintf("Merge %s: %s\n", w.tree.Branch, w.subject())
	if mo.How == HowSquash {
		message = w.about()
	}
	if mo.Message != "" {
		message = strings.TrimSpace(mo.Message) + "\n"
	}
	done, err := w.store.Merge(ctx, worktree.Merging{Tree: w.tree, Tip: tip, Into: into, How: worktree.How(mo.How), Message: message})
	for _, h := range done.Hooks {
		if !slices.Contains(m.Hooks, h) {
			m.Hooks = append(m.Hooks, h)
		}
	}
	m.Changed = done.Changed
	var conflict *worktree.ConflictError
	if errors.As(err, &conflict) {
		m.Conflict = conflict.Files
		return o.handBack(ctx, w, m)
	}
	if err != nil {
		return explained("merge", err)
	}
	m.Result = done.Commit
	return nil
}

// handBack makes a task of a conflict.
func (o Operator) handBack(ctx context.Context, w *work, m *Merged) error {
	e := &operator.Error{Kind: operator.Failed, Op: "merge", Msg: fmt.Sprintf("%s and %s conflict in %s; %s is as it was", m.Branch, m.Into, strings.Join(m.Conflict, ", "), m.Into)}
	commands := "git merge " + m.Into
	if w.confined() {
		commands = "git fetch origin, then git merge origin/" + m.Into
	}
	if !w.present() || w.ordersOnly() {
		e.Advice = "resolve it in " + w.tree.Path + " with " + commands + ", commit, and merge again"
		return e
	}
	n := board.NewTask{Subject: fmt.Sprintf(process.ConflictTask+"%s with %s", m.Branch, m.Into), Owner: w.m.Name,
		Description: fmt.Sprintf("Your work cannot be merged into %s: both changed the same lines of these files:\n\n%s\n\nIn your worktree, commit what is not committed, bring %s in (%s), resolve the conflicts so that both changes work, and commit.\n",
			m.Into, "- "+strings.Join(m.Conflict, "\n- "), m.Into, commands)}
	r, err := board.Of(o.Operator).AddTask(ctx, w.s.Team, n)
	if err != nil {
		return errors.Join(e, fmt.Errorf("the task for %s: %w", w.m.Name, err))
	}
	m.Task = string(r.Task.ID)
	e.Msg += fmt.Sprintf("; task %s asks %s to resolve it", m.Task, w.m.Name)
	e.Advice = "merge again when it is done"
	return e
}

// settle removes worktree and branch after a merge, and says why when it keeps them.
func (o Operator) settle(ctx context.Context, w *work, m *Merged, tip worktree.Tip, mo MergeOptions) {
	if mo.Keep {
		m.Kept = "as asked"
		return
	}
	if err := o.release(ctx, w, m, mo); err != nil {
		m.Kept = err.Error()
		return
	}
	err := w.store.RemoveMerged(ctx, w.tree, tip)
	var kept *worktree.KeptError
	switch {
	case err == nil:
		m.Removed = true
	case errors.As(err, &kept) && kept.Why != "":
		m.Kept = kept.Why
	case errors.As(err, &kept):
		m.Kept = kept.Status.String()
	default:
		m.Kept = err.Error()
	}
}

// release stops a member that works in the worktree and has nothing more to do.
func (o Operator) release(ctx context.Context, w *work, m *Merged, mo MergeOptions) error {
	if !w.present() {
		return nil
	}
	open, err := board.Of(o.Operator).Open(ctx, w.s.Team)
	if err != nil {
		return err
	}
	if n := len(owned(open, w.m.Name)); n > 0 {
		return fmt.Errorf("%s has %d open tasks", w.m.Name, n)
	}
	if _, err := process.Of(o.Operator).Stop(ctx, w.s.Team, w.name(), process.StopOptions{Grace: mo.Grace}); err != nil {
		return err
	}
	m.Stopped = true
	return nil
}
