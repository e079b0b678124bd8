package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"waggle/control"
	"waggle/internal/fs/logfile"
	"waggle/internal/fs/worktree"
	"waggle/operator"
	"waggle/record"
	"waggle/task"
)

// SetupError: a member was not started, because its worktree could not be prepared.
type SetupError struct {
	Member string
	Why    string
	Log    string
}

func (e *SetupError) Error() string { return fmt.Sprintf("%s is blocked: setup: %s", e.Member, e.Why) }

// setupOpen is how long what a setup has started may keep its output open.
const setupOpen = 5 * time.Second

// Prepare copies and links files of the checkout into a member's worktree, and then runs the setup in
// it: as the operator, once, before the member starts for the first time. What it did and what setup
// wrote is in the member's log. note gets each step. The result is recorded, and a *SetupError when
// it failed; the next call tries again.
//
// want is what the operator accepted, on record with the member: neither the team file nor
// .worktreeinclude is read again, which a member could have changed.
func (o Operator) Prepare(ctx context.Context, s *operator.State, m *control.Member, want record.Preparation, note func(operator.Note)) error {
	if m.Worktree == nil {
		return nil
	}
	t, store := worktree.Tree(*m.Worktree), o.worktrees(s)
	_, missing := os.Lstat(t.Path)
	before, hook, err := store.Prepared(t)
	if err != nil {
		return err
	}
	if before != nil && before.State == worktree.PrepareDone && missing == nil {
		return nil
	}
	if err := store.Restore(ctx, t); err != nil {
		return worktreeError(m.Name, err)
	}
	if before == nil {
		o.noteMade(ctx, s, m, hook, note)
	}
	p := &preparing{m: m, tree: t, git: store.Git, note: note, dir: o.Root.MemberDir(s.Team, m.Name)}
	p.exec = func(ctx context.Context, text string) error {
		c := exec.CommandContext(ctx, "sh", "-c", text)
		c.Dir, c.Stdout, c.Stderr, c.WaitDelay = m.Cwd, p.log, p.log, setupOpen
		c.Env = o.memberEnviron(s, m.Instance)
		return c.Run()
	}
	if t.Mirror != "" && workedIn(s, m) {
		want.Setup = nil // a confined member has worked on these files: they do not run as the operator
	}
	err = p.run(ctx, want)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	result := worktree.Prepared{State: worktree.PrepareDone, At: o.Minter.Now()}
	if err != nil {
		result.State, result.Why = worktree.PrepareFailed, err.Error()
		err = &SetupError{string(m.Name), err.Error(), filepath.Join(p.dir, task.LogName)}
	}
	return errors.Join(err, store.SetPrepared(ctx, t, result))
}

// NoteMade notes of the worktrees of members that have not been prepared yet what Prepare notes as it begins: for a
// person who starts a process that prepares them elsewhere.
func (o Operator) NoteMade(ctx context.Context, s *operator.State, note func(operator.Note)) {
	for _, m := range s.Lead.Live() {
		if m.Worktree == nil {
			continue
		}
		if before, hook, err := o.worktrees(s).Prepared(worktree.Tree(*m.Worktree)); err == nil && before == nil {
			o.noteMade(ctx, s, m, hook, note)
		}
	}
}

// noteMade notes what a person should know of a worktree that was made: it is on another branch than usual, or the
// repository's hook failed.
func (o Operator) noteMade(ctx context.Context, s *operator.State, m *control.Member, hook string, note func(operator.Note)) {
	if note == nil {
		return
	}
	t := worktree.Tree(*m.Worktree)
	if way, err := o.worktrees(s).Git.InTheWay(ctx, t, string(s.Team), string(m.Name)); err == nil && way != "" {
		note(operator.Note{What: "branch", Member: string(m.Name), Text: fmt.Sprintf("works on %s, because branch %s is in the way", t.Branch, way)})
	}
	if hook != "" {
		note(operator.Note{What: "hook", Member: string(m.Name), Text: "the repository's post-checkout hook failed in its new worktree, which is there nevertheless: " + strings.ReplaceAll(hook, "\n", "; ")})
	}
}

// workedIn reports whether a process of a member has run in its worktree, its own or that of a member
// that it goes on as.
func workedIn(s *operator.State, m *control.Member) bool {
	for was, ok := m, true; ok && was.Worktree != nil && *was.Worktree == *m.Worktree; was, ok = s.Lead.ByInstance(was.Continues) {
		if was.Process != nil {
			return true
		}
	}
	return false
}

// preparing is one preparation.
type preparing struct {
	m    *control.Member
	tree worktree.Tree
	git  worktree.Git
	note func(operator.Note)
	dir  string // of the member's log
	log  io.Writer
	exec func(ctx context.Context, text string) error // runs a shell text of setup
}

// PrepareResult gives dir, a checkout of the merged result, what the worktree of a member got, so that its
// check finds the same there. run runs a shell text of setup in a directory of the checkout, with an
// environment; log gets the steps. Nothing is recorded.
func (o Operator) PrepareResult(ctx context.Context, s *operator.State, m *control.Member, want record.Preparation, dir string, log io.Writer,
	run func(ctx context.Context, text, dir string, environ []string) error) error {
	t := worktree.Tree(*m.Worktree)
	cwd := t.Outside(m.Cwd)
	t.Path = dir
	cwd = t.Inside(cwd)
	p := &preparing{m: m, tree: t, git: o.worktrees(s).Git, log: log}
	p.exec = func(ctx context.Context, text string) error {
		return run(ctx, text, cwd, o.memberEnviron(s, m.Instance))
	}
	return p.give(ctx, want)
}

func (p *preparing) run(ctx context.Context, want record.Preparation) (err error) {
	if len(want.Copy)+len(want.Link)+len(want.Setup) == 0 {
		return nil
	}
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return err
	}
	f, err := logfile.OpenFile(p.dir, task.LogName, os.O_WRONLY|os.O_CREATE|os.O_APPEND)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	p.log = f
	return p.give(ctx, want)
}

// give copies, links and runs setup.
func (p *preparing) give(ctx context.Context, want record.Preparation) error {
	given, err := p.git.Give(ctx, p.tree, want.Copy, want.Link)
	p.say("copied", strings.Join(given.Copied, ", "))
	p.say("linked", strings.Join(given.Linked, ", "))
	p.say("not in the checkout", strings.Join(given.Missing, ", "))
	for _, text := range want.Setup {
		if err != nil {
			break
		}
		p.say("runs", text)
		if err = p.exec(ctx, text); err != nil {
			err = fmt.Errorf("%s: %w", text, err)
		}
	}
	if err != nil {
		p.say("failed", err.Error())
	}
	return err
}

// say writes a step to the member's log and notes it.
func (p *preparing) say(what, text string) {
	if text == "" {
		return
	}
	fmt.Fprintf(p.log, "waggle: setup: %s: %s\n", what, operator.Visible(text))
	if p.note != nil {
		p.note(operator.Note{What: "setup", Member: string(p.m.Name), Text: what + ": " + text})
	}
}

// SetupOf reports a member whose worktree could not be prepared, and why.
func (o Operator) SetupOf(s *operator.State, m *control.Member) (why string, at time.Time, failed bool) {
	if m.Worktree == nil {
		return "", time.Time{}, false
	}
	p, _, err := o.worktrees(s).Prepared(worktree.Tree(*m.Worktree))
	if err != nil || p == nil || p.State != worktree.PrepareFailed {
		return "", time.Time{}, false
	}
	return p.Why, p.At, true
}

// Halted reports members whose setup failed: they wait for a person.
func (o Operator) Halted(s *operator.State) func(*control.Member) bool {
	return func(m *control.Member) bool {
		if m.Process != nil {
			return false
		}
		_, _, failed := o.SetupOf(s, m)
		return failed
	}
}

// RefusedMerge is a merge of a member's work that changed nothing, or that was interrupted.
type RefusedMerge struct {
	Why  string    `json:"why"`
	Into string    `json:"into"` // the branch that it was for
	At   time.Time `json:"at"`
	// Open says that its process was killed: it is to be continued or taken back.
	Open bool `json:"open,omitempty"` // its process was killed: waggle merge NAME --continue, or --abort
}

// Step is what a person does next about it.
func (r *RefusedMerge) Step() operator.Step {
	if r != nil && r.Open {
		return operator.NextMergeOpen
	}
	return operator.NextMergeAgain
}

// interrupted is an open merge as every face shows it.
func interrupted(i *worktree.Intent) *RefusedMerge {
	return &RefusedMerge{Why: (&worktree.OpenError{Intent: i}).Error(), Into: i.Into, At: i.At, Open: true}
}

// OpenMerges are the interrupted merges of a team by the member's name, those of members that have left
// included.
func (o Operator) OpenMerges(s *operator.State) (map[string]*RefusedMerge, error) {
	is, err := o.worktrees(s).Intents()
	open := map[string]*RefusedMerge{}
	for _, i := range is {
		if i.Open() {
			open[i.Member] = interrupted(i)
		}
	}
	return open, err
}

// Merging is how the merges of a team's members stand. What all of them share is read once.
type Merging struct {
	trees  worktree.Store
	newest map[record.Instance]*record.Task
}

// Merging looks at the merges of a team.
func (o Operator) Merging(s *operator.State) Merging {
	w := Merging{trees: o.worktrees(s), newest: map[record.Instance]*record.Task{}}
	for _, order := range s.Lead.Assignments() {
		w.newest[order.Instance] = order.Commanded.Task
	}
	return w
}

// Refused reports why the last merge of a member's work changed nothing, or that it was interrupted; nil
// when it did, or the member's branch has changed since, or one is in progress.
func (w Merging) Refused(ctx context.Context, m *control.Member) (*RefusedMerge, error) {
	if m.Worktree == nil {
		return nil, nil
	}
	if i, err := w.trees.Intent(worktree.Tree(*m.Worktree)); err != nil {
		return nil, err
	} else if i != nil && i.Open() {
		return interrupted(i), nil
	} else if i != nil {
		return nil, nil
	}
	r, err := w.trees.Refused(ctx, worktree.Tree(*m.Worktree))
	if err != nil || r == nil {
		return nil, err
	}
	return &RefusedMerge{Why: r.Why, Into: r.Into, At: r.At}, nil
}

// ConflictTask begins the subject of the task that hands a conflict of a merge back to its member.
const ConflictTask = "Resolve the conflict of "

// Resolved reports whether a member has done the task that handed its conflict back, so that its work
// waits to be merged again: its branch has changed since the merge was refused, and none succeeded.
func (w Merging) Resolved(ctx context.Context, m *control.Member) bool {
	if m.Worktree == nil {
		return false
	}
	newest := w.newest[m.Instance]
	if newest == nil || !strings.HasPrefix(newest.Subject, ConflictTask) || m.Done[newest.ID] == nil {
		return false
	}
	last, err := w.trees.LastRefused(worktree.Tree(*m.Worktree))
	if last == nil || err != nil {
		return false
	}
	now, err := w.Refused(ctx, m)
	return now == nil && err == nil
}
