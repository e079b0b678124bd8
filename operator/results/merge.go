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

	"waggle/internal/fs/worktree"
	"waggle/operator"
	"waggle/operator/board"
	"waggle/operator/process"
	"waggle/protocol"
	"waggle/spawn"
	"waggle/task"
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
type Confine func(ctx context.Context, tree string, c spawn.Command) (spawn.Command, func() error, error)

// MergeOptions are the settings of Merge.
type MergeOptions struct {
	Into    string // a branch; "": the one that the worktree was made from
	How     How    // "": HowMerge
	Keep    bool   // keep the worktree, its branch and the member
	Message string // of the commits that are made; "": the member's newest task
	Grace   time.Duration
	// Confine wraps a command for the sandbox of a directory; it is used for setup and check of a confined
	// member, and nil refuses them.
	Confine Confine
	// Output gets what setup and check write; nil: nobody.
	Output io.Writer
	// Note gets the steps; may be nil.
	Note func(operator.Note)
}

// Merged is how far a merge came. Into is changed only where Changed is set.
type Merged struct {
	Team   string `json:"team"`
	Member string `json:"member"`
	Branch string `json:"branch"`
	Into   string `json:"into"`
	How    How    `json:"how"`    // merge, squash, rebase
	Commit string `json:"commit"` // of all work
	// Message is the message of the commit that was made of Files, which were in no commit.
	Message   string   `json:"message"`
	Files     []string `json:"files"`
	Check     *Checked `json:"check"`     // nil: the team file has none, or it did not come to it
	Before    string   `json:"before"`    // where Into was
	Result    string   `json:"result"`    // where Into is now
	Changed   bool     `json:"changed"`   // false: Into is as it was
	Untouched int      `json:"untouched"` // files that a person has not committed in the checkouts of Into, and that are as they were
	Hooks     []string `json:"hooks"`     // the hooks of the repository that git ran
	NoHooks   string   `json:"no_hooks"`  // why those that there are were not to run; "": they were
	Conflict  []string `json:"conflict"`  // the files in which both changed the same lines
	Task      string   `json:"task"`      // the task that hands the conflict back to the member; "": none
	Stopped   bool     `json:"stopped"`   // the member was stopped
	Removed   bool     `json:"removed"`   // worktree and branch
	Kept      string   `json:"kept"`      // why they are kept
	Hooked    bool     `json:"-"`         // the repository has hooks
}

// Merge merges a member's work into a branch. It commits what is not committed, merges in a scratch
// checkout of the branch, runs the check of the team file there, on the result, then moves the branch
// and the files of the checkouts that are on it, and then removes worktree and branch. What a person
// has not committed in those checkouts stays as it is; a merge that would change it is refused. A
// member that is still there and has no task is stopped at the end. After any failure the branch and
// its checkouts are as they were. A conflict becomes a task of the member. The result is not nil when
// the work was begun.
//
// A merge that changed nothing is on record with the worktree until one succeeds or the branch
// changes: process.Merging reads it, for every face. So is one that is in progress: when
// its process is killed, ContinueMerge or AbortMerge ends it.
func (o Operator) Merge(ctx context.Context, of, member string, mo MergeOptions) (m *Merged, err error) {
	w, check, into, err := o.mergeable(ctx, of, member, mo)
	if unclean(err) {
		return nil, o.refuse(ctx, w, into.Branch, err)
	}
	if err != nil {
		return nil, err
	}
	release, err := o.hold(ctx, w, mo)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()
	if err := w.noneOpen(op); err != nil {
		return nil, err
	}
	return o.merge(ctx, w, check, into, mo)
}

// hold takes the lock of the merges of a team.
func (o Operator) hold(ctx context.Context, w *work, mo MergeOptions) (release func() error, err error) {
	return w.store.HoldMerges(ctx, func() { note(mo.Note, w, "waits", "for another merge of the team") })
}

// noneOpen refuses what would begin beside a merge of the work that was begun and has not ended.
func (w *work) noneOpen(op string) error {
	i, err := w.store.Intent(w.tree)
	if err != nil || i == nil {
		return err
	}
	return w.explained(op, &worktree.OpenError{Intent: i})
}

// merge is Merge under its lock.
func (o Operator) merge(ctx context.Context, w *work, check Checked, into worktree.Target, mo MergeOptions) (m *Merged, err error) {
	if err := o.refuse(ctx, w, "", nil); err != nil {
		return nil, err
	}
	mo.How = cmp.Or(mo.How, HowMerge)
	m = w.merged(ctx, into.Branch, mo.How)
	m.Result, m.Before = into.Commit, into.Commit
	defer func() {
		if err != nil && !m.Changed {
			err = o.refuse(ctx, w, m.Into, err)
		}
	}()
	mg := worktree.Merging{Tree: w.tree, Member: w.name(), Into: m.Into, How: worktree.How(mo.How), Keep: mo.Keep, Text: mo.Message, At: o.Minter.Now(),
		Commit: w.about(), Merge: fmt.Sprintf("Merge %s: %s\n", w.tree.Branch, w.subject())}
	if mo.How == HowSquash {
		mg.Merge = w.about()
	}
	if mo.Message != "" {
		mg.Commit = strings.TrimSpace(mo.Message) + "\n"
		mg.Merge = mg.Commit
	}
	if check.Command != "" {
		mg.Check = func(ctx context.Context, result worktree.Tree) (err error) {
			if err = o.prepareResult(ctx, w, result, mo); err == nil {
				m.Check, err = o.check(ctx, w, w.in(check, result), result, mo)
			}
			return err
		}
	}
	done, err := w.store.Merge(ctx, mg)
	m.took(done, mg.Commit, err == nil || done.Changed || !w.confined())
	var conflict *worktree.ConflictError
	if errors.As(err, &conflict) {
		m.Conflict = conflict.Files
		return m, o.handBack(ctx, w, m)
	}
	if err != nil {
		return m, w.explained(op, err)
	}
	return m, o.settle(ctx, w, m, done.Tip, mo)
}

// merged is a merge of which nothing was done yet.
func (w *work) merged(ctx context.Context, into string, how How) *Merged {
	m := &Merged{Team: string(w.s.Team), Member: w.name(), Branch: w.tree.Branch, Into: into, How: how, Files: []string{}, Hooks: []string{}, Conflict: []string{}}
	if hooked, err := w.store.Git.Hooked(ctx, w.tree); err == nil {
		m.Hooked = hooked
	}
	if w.confined() && m.Hooked {
		m.NoHooks = w.name() + " is confined, and hooks would run its files outside of the sandbox"
	}
	return m
}

// took fills in what was merged. stays: a commit that was made is still there.
func (m *Merged) took(done worktree.Merged, message string, stays bool) {
	m.Commit, m.Changed, m.Untouched = done.Tip.Commit, done.Changed, done.Untouched
	if done.Changed {
		m.Result = done.Commit
	}
	if done.Tip.Made && stays {
		m.Message, m.Files = message, done.Tip.Files
	}
	for _, h := range slices.Concat(done.Tip.Hooks, done.Hooks) {
		if !slices.Contains(m.Hooks, h) {
			m.Hooks = append(m.Hooks, h)
		}
	}
}

// ContinueMerge finishes a merge whose process was killed, with the settings that it was begun with.
// member "" is the only one of the team.
func (o Operator) ContinueMerge(ctx context.Context, of, member string, mo MergeOptions) (m *Merged, err error) {
	w, i, release, err := o.interrupted(ctx, of, member, mo)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()
	if !i.Settling() {
		if err := w.working(op); err != nil {
			return nil, err
		}
	}
	if i, err = w.store.Continue(ctx, w.tree); err != nil {
		return nil, w.explained(op, err)
	}
	mo.Into, mo.How, mo.Keep, mo.Message = i.Into, How(i.How), i.Keep, i.Text
	if !i.Settling() {
		check, err := o.checkOf(w)
		if err != nil {
			return nil, err
		}
		into, err := w.store.Git.Target(ctx, w.tree, mo.Into)
		if err != nil {
			return nil, w.explained(op, err)
		}
		return o.merge(ctx, w, check, into, mo)
	}
	m = w.merged(ctx, i.Into, mo.How)
	m.Commit, m.Before, m.Result, m.Changed = i.Commit, i.From, i.Result, i.Result != i.From
	return m, o.settle(ctx, w, m, i.Tip(), mo)
}

// Aborted is a merge that was taken back.
type Aborted struct {
	Team   string `json:"team"`
	Member string `json:"member"`
	Branch string `json:"branch"`
	Into   string `json:"into"`
	At     string `json:"at"`   // the commit at which Into is
	Path   string `json:"path"` // the worktree, which keeps what was committed in it
}

// AbortMerge takes back a merge whose process was killed: the target and its checkouts are as they
// were before it. member "" is the only one of the team.
func (o Operator) AbortMerge(ctx context.Context, of, member string, mo MergeOptions) (a *Aborted, err error) {
	w, i, release, err := o.interrupted(ctx, of, member, mo)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()
	if i.Settling() {
		e := w.explained(op, &worktree.OpenError{Intent: i}).(*operator.Error)
		e.Msg, e.Next = fmt.Sprintf("%s has the work of %s already, at %.12s: there is nothing to take back", i.Into, w.name(), i.Result), operator.Next{}
		e.Advice = "finish it with --continue; git revert in a checkout of " + i.Into + " takes the work out again"
		return nil, e
	}
	if _, err := w.store.Abort(ctx, w.tree); err != nil {
		return nil, w.explained(op, err)
	}
	a = &Aborted{Team: string(w.s.Team), Member: w.name(), Branch: w.tree.Branch, Into: i.Into, Path: w.tree.Path}
	a.At, err = w.store.Git.At(ctx, w.tree, i.Into)
	return a, err
}

// interrupted finds a merge whose process was killed, and holds the lock of merges.
func (o Operator) interrupted(ctx context.Context, of, member string, mo MergeOptions) (w *work, i *worktree.Intent, release func() error, err error) {
	if w, err = o.findOpen(ctx, of, member); err != nil {
		return nil, nil, nil, err
	}
	if err := o.Guard(ctx, w.s, op); err != nil {
		return nil, nil, nil, err
	}
	if release, err = o.hold(ctx, w, mo); err != nil {
		return nil, nil, nil, err
	}
	i, err = w.store.Intent(w.tree)
	if err == nil && i == nil { // another process has ended it
		err = noneInterrupted(w.name())
	}
	if err != nil {
		return nil, nil, nil, errors.Join(err, release())
	}
	return w, i, release, nil
}

const op = "merge"

// unclean reports a target that takes no merge now.
func unclean(err error) bool {
	return errors.As(err, new(*worktree.DirtyError)) || errors.As(err, new(*worktree.BusyError))
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
	if err == nil || errors.As(err, new(*worktree.UnknownError)) { // removed meanwhile: there is nothing to merge
		return why
	}
	return errors.Join(why, err)
}

// mergeable finds a member's work, the check and the branch of a merge, and refuses what cannot be
// merged now.
func (o Operator) mergeable(ctx context.Context, of, member string, mo MergeOptions) (w *work, check Checked, into worktree.Target, err error) {
	if w, err = o.takeable(ctx, op, of, member); err == nil {
		check, err = o.checkOf(w)
	}
	if err != nil {
		return w, check, into, err
	}
	into, err = w.store.Git.Target(ctx, w.tree, mo.Into)
	return w, check, into, w.explained(op, err)
}

// MergePlan is what a merge would do.
type MergePlan struct {
	Team        string       `json:"team"`
	Member      string       `json:"member"`
	Branch      string       `json:"branch"`
	Into        string       `json:"into"`
	How         How          `json:"how"`
	Check       string       `json:"check"` // a shell text, which runs first; "": none
	Files       []FileChange `json:"files"`
	Uncommitted []string     `json:"uncommitted"`
	Diff        *Diff        `json:"-"` // what would be merged
}

// PlanMerge refuses what Merge refuses, and returns what Merge would do. It changes nothing.
func (o Operator) PlanMerge(ctx context.Context, of, member string, mo MergeOptions) (*MergePlan, error) {
	w, check, into, err := o.mergeable(ctx, of, member, mo)
	if err != nil {
		return nil, err
	}
	if err := w.store.Git.Beside(ctx, w.tree, into); err != nil {
		return nil, w.explained(op, err)
	}
	d, err := w.diff(ctx, op)
	if err != nil {
		return nil, err
	}
	return &MergePlan{Team: d.Team, Member: d.Member, Branch: d.Branch, Into: into.Branch, How: cmp.Or(mo.How, HowMerge), Check: check.Command, Files: d.Files,
		Uncommitted: d.Uncommitted, Diff: d}, nil
}

func note(to func(operator.Note), w *work, what, text string) {
	if to != nil {
		to(operator.Note{What: what, Member: w.name(), Text: text})
	}
}

// handBack makes a task of a conflict.
func (o Operator) handBack(ctx context.Context, w *work, m *Merged) error {
	e := &operator.Error{Kind: operator.Refused, Op: "merge", Msg: fmt.Sprintf("%s and %s conflict in %s; %s is as it was", m.Branch, m.Into, worktree.Some(m.Conflict), m.Into)}
	commands, first := "git merge "+m.Into, ""
	if w.confined() {
		commands, first = "git fetch origin, then git merge origin/"+m.Into, "commit what is not committed there, then "
	}
	if !w.present() || w.ordersOnly() {
		e.Advice = "resolve it in " + w.tree.Path + ": " + first + commands + ", commit, and merge again"
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

// settle removes worktree and branch after a merge, and says why when it keeps them. Then the merge has
// ended.
func (o Operator) settle(ctx context.Context, w *work, m *Merged, tip worktree.Tip, mo MergeOptions) error {
	m.Kept = o.removed(ctx, w, m, tip, mo)
	m.Removed = m.Kept == ""
	return w.store.Settled(context.WithoutCancel(ctx), w.tree)
}

// removed removes worktree and branch; why says why they are kept, "": they are not.
func (o Operator) removed(ctx context.Context, w *work, m *Merged, tip worktree.Tip, mo MergeOptions) (why string) {
	if mo.Keep {
		return "as asked"
	}
	if err := o.release(ctx, w, m, mo); err != nil {
		return err.Error()
	}
	err := w.store.RemoveMerged(ctx, w.tree, tip)
	var kept *worktree.KeptError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &kept) && kept.Why != "":
		return kept.Why
	case errors.As(err, &kept):
		return kept.Status.String()
	}
	return err.Error()
}

// release stops a member that works in the worktree and has nothing more to do.
func (o Operator) release(ctx context.Context, w *work, m *Merged, mo MergeOptions) error {
	if !w.present() {
		return nil
	}
	open, err := board.Of(o.Operator).OpenTasks(ctx, w.s.Team)
	if err != nil {
		return err
	}
	open = slices.DeleteFunc(open, func(t task.Task) bool { return !protocol.SameName(protocol.MemberName(t.Owner), w.m.Name) })
	switch n := len(open); n {
	case 0:
	case 1:
		return fmt.Errorf("%s has an open task", w.m.Name)
	default:
		return fmt.Errorf("%s has %d open tasks", w.m.Name, n)
	}
	if _, err := process.Of(o.Operator).Stop(ctx, w.s.Team, w.name(), process.StopOptions{Grace: mo.Grace}); err != nil {
		return err
	}
	m.Stopped = true
	return nil
}
