package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"waggle/control"
	"waggle/home"
	"waggle/internal/fs/worktree"
	"waggle/operator"
	"waggle/operator/teamfile"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
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

// PassWorktree makes a kept worktree that of another instance. kept is false when it was removed.
func (o Operator) PassWorktree(ctx context.Context, s *operator.State, tree *record.Worktree, to record.Instance) (kept bool, err error) {
	return o.worktrees(s).Pass(ctx, worktree.Tree(*tree), string(to))
}

// HasWorktree reports whether a worktree is on record, and was not removed.
func (o Operator) HasWorktree(s *operator.State, tree *record.Worktree) (bool, error) {
	recs, err := o.worktrees(s).List()
	return slices.ContainsFunc(recs, func(r worktree.Record) bool { return r.Tree == worktree.Tree(*tree) }), err
}

// DropWorktree removes a worktree without changes.
func (o Operator) DropWorktree(ctx context.Context, s *operator.State, tree *record.Worktree) error {
	return o.worktrees(s).Remove(ctx, worktree.Tree(*tree))
}

// NewWorktree makes a member's worktree from the checkout that cwd is in. dir is the same directory
// in it. It has a git directory of its own where the member's commands are to be confined and can be.
func (o Operator) NewWorktree(ctx context.Context, s *operator.State, name protocol.MemberName, i record.Instance, cwd string, begin teamfile.Begin, box *record.Sandbox) (tree *record.Worktree, dir string, err error) {
	if o.Worktrees == "" {
		return nil, "", noPlace(name)
	}
	t, dir, err := o.worktrees(s).Create(ctx, worktree.Want{Team: string(s.Team), Member: string(name), Owner: string(i), Cwd: cwd, Begin: worktree.Begin(begin), Own: box.Asked() && o.confines()})
	if err != nil {
		return nil, "", worktreeError(name, err)
	}
	return (*record.Worktree)(&t), dir, nil
}

// PlannedWorktree returns the worktree that NewWorktree would make, and makes nothing. Without a state, for a team
// that is not open, its Path is "": the directory is named by the identity that the team gets.
func (o Operator) PlannedWorktree(ctx context.Context, s *operator.State, team protocol.TeamName, name protocol.MemberName, cwd string, begin teamfile.Begin) (*record.Worktree, error) {
	if o.Worktrees == "" {
		return nil, noPlace(name)
	}
	at := cmp.Or(s, &operator.State{Dir: home.Dir{Path: filepath.Join(o.Worktrees, string(team))}})
	t, err := o.worktrees(at).Planned(ctx, worktree.Want{Team: string(team), Member: string(name), Cwd: cwd, Begin: worktree.Begin(begin)})
	if err != nil {
		return nil, worktreeError(name, err)
	}
	if s == nil {
		t.Path = ""
	}
	return (*record.Worktree)(&t), nil
}

// Begins reports by its error that no worktree of the checkout that a directory is in can begin so.
func (o Operator) Begins(ctx context.Context, dir string, begin teamfile.Begin) error {
	if begin == (teamfile.Begin{}) {
		return nil
	}
	g, err := worktree.Find(o.Environ)
	if err == nil {
		err = g.Begins(ctx, dir, worktree.Begin(begin))
	}
	return cannotBegin(err)
}

// cannotBegin is the error of a branch or a commit at which no worktree can begin; another error as it is.
func cannotBegin(err error) error {
	if _, ok := errors.AsType[*worktree.RefError](err); ok {
		return &operator.Error{Kind: operator.NotFound, Op: "worktree", Next: operator.NextListBranches.With(), Err: err}
	}
	if e, ok := errors.AsType[*worktree.ManyError](err); ok {
		return &operator.Error{Kind: operator.Usage, Op: "worktree", Advice: "git branch " + e.Branch + " " + strings.TrimPrefix(e.Refs[0], "refs/remotes/") + " makes one of them yours", Err: err}
	}
	if e, ok := errors.AsType[*worktree.CheckedOutError](err); ok {
		return &operator.Error{Kind: operator.Refused, Op: "worktree", Next: operator.Next{Step: operator.NextLetGo, ID: e.Branch}, Err: err}
	}
	return err
}

// noPlace is the error where no directory for worktrees is known.
func noPlace(name protocol.MemberName) error {
	return &operator.Error{Kind: operator.Usage, Op: "worktree", Msg: fmt.Sprintf("%s wants a worktree, and there is no place for one: HOME is not set", name), Advice: "set WAGGLE_WORKTREES to a directory"}
}

// RealCwd is the directory of a member without links, for the record of a confined one: a later start follows no link
// to another place. "": it is not confined, or its directory is not there.
func RealCwd(box *record.Sandbox, cwd string) string {
	if !box.Asked() {
		return ""
	}
	real, err := filepath.EvalSymlinks(cwd)
	if err != nil {
		return "" // its start says so
	}
	return real
}

// sandboxVariable is the variable that turns sandboxes off (package confine).
const sandboxVariable = "WAGGLE_SANDBOX"

// confines reports whether this machine has what commands are confined with. A member finds out
// whether it works when it starts.
func (o Operator) confines() bool {
	if slices.Contains(o.Environ, sandboxVariable+"=off") {
		return false
	}
	_, err := spawn.LookPath("bwrap", o.Environ)
	return runtime.GOOS == "darwin" || runtime.GOOS == "linux" && err == nil
}

// worktreeError adds to an error why a member has no worktree, and the next step.
func worktreeError(name protocol.MemberName, err error) error {
	if begun := cannotBegin(err); begun != err {
		return begun
	}
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
	Path   string `json:"path"`
	Branch string `json:"branch"`
	Base   string `json:"base"` // the commit that it began at
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
		if why := taken(m); why != "" {
			kept = append(kept, keptTree(r, why, nil))
			continue
		}
		err := store.Remove(ctx, r.Tree)
		var unknown *worktree.UnknownError
		if err == nil || errors.As(err, &unknown) { // another process has removed it
			continue
		}
		k := keptTree(r, err.Error(), nil)
		var work *worktree.KeptError
		if errors.As(err, &work) {
			k = keptTree(r, cmp.Or(work.Why, work.Status.String()), work.Status.Lines(keptShown))
		}
		kept = append(kept, k)
	}
	return kept, nil
}

// keptTree is a worktree that is kept, with the lines of its status.
func keptTree(r worktree.Record, why string, lines []string) operator.KeptWorktree {
	k := operator.KeptWorktree{Member: r.Member, Path: r.Tree.Path, Branch: r.Tree.Branch, Why: why, Files: []string{}, Owner: record.Instance(r.Owner)}
	for _, l := range lines {
		k.Files = append(k.Files, strings.ToValidUTF8(l, "\uFFFD"))
	}
	return k
}

// KeptWorktrees lists the worktrees of an ended team that are still there, with the reason, and the branches of
// its members whose worktree is not. It changes nothing.
func (o Operator) KeptWorktrees(ctx context.Context, s *operator.State) ([]operator.KeptWorktree, error) {
	kept := []operator.KeptWorktree{}
	store := o.worktrees(s)
	store.Aside = nil
	recs, err := store.List()
	if err != nil {
		return kept, err
	}
	there := map[string]bool{}
	for _, r := range recs {
		there[r.Tree.Branch] = true
		k := keptTree(r, "nothing in it would be lost", nil)
		switch st, err := store.Git.Status(ctx, r.Tree); {
		case err != nil:
			k.Why = err.Error()
		case !st.Clean():
			k = keptTree(r, st.String(), st.Lines(keptShown))
		}
		if i, err := store.Intent(r.Tree); err == nil && i != nil && i.Open() {
			k.Why = (&worktree.OpenError{Intent: i}).Error() + "; " + k.Why
		}
		kept = append(kept, k)
	}
	for _, m := range s.Lead.Members {
		if m.Worktree == nil || there[m.Worktree.Branch] {
			continue
		}
		there[m.Worktree.Branch] = true
		if has, err := store.Git.HasBranch(ctx, worktree.Tree(*m.Worktree)); err == nil && has {
			kept = append(kept, operator.KeptWorktree{Member: string(m.Name), Branch: m.Worktree.Branch, Why: "its worktree was removed", Files: []string{}, Owner: m.Instance})
		}
	}
	return kept, nil
}

// taken says that a person has the session of a member open, who may have left; "": nobody has. m may be nil.
func taken(m *control.Member) string {
	if m == nil || m.Borrowed == nil || m.Borrowed.By.Ended() {
		return ""
	}
	return fmt.Sprintf("a person has its session open there, in process %d", m.Borrowed.By.PID)
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

// Included lists the files that git ignores and that .worktreeinclude names, of the checkout that a
// directory is in.
func (o Operator) Included(ctx context.Context, dir string) ([]string, error) {
	g, err := worktree.Find(o.Environ)
	if err != nil {
		return nil, err
	}
	return g.Included(ctx, dir)
}
