package results

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"waggle/control"
	"waggle/internal/fs/worktree"
	"waggle/operator"
	"waggle/protocol"
	"waggle/team"
)

// Task is an order that a member got.
type Task struct {
	ID      string
	Subject string
	State   string // done, failed, open
}

// States of a Task.
const (
	TaskDone   = "done"
	TaskFailed = "failed"
	TaskOpen   = "open"
)

// work is a member with a worktree.
type work struct {
	s     *operator.State
	live  bool // the team has not ended
	m     *control.Member
	tree  worktree.Tree
	store worktree.Store
}

// find finds a member with a worktree: of the present team, else of one that has ended.
func (o Operator) find(ctx context.Context, op, of, member string) (*work, error) {
	w, err := o.open(ctx, of)
	if err != nil {
		return nil, err
	}
	if w.m, err = newest(w.s, member); err != nil {
		return nil, err
	}
	if w.m.Worktree == nil {
		return nil, &operator.Error{Kind: operator.NotFound, Op: op, Msg: fmt.Sprintf("%s has no worktree of its own: it works in %s", w.m.Name, w.m.Cwd),
			Advice: "worktree: true in the team file gives a member one"}
	}
	if err := o.at(w, op); err != nil {
		return nil, err
	}
	if gone, err := w.store.Gone(ctx, w.tree); err == nil && gone { // what git cannot tell it says later
		return nil, &operator.Error{Kind: operator.NotFound, Op: op, Msg: fmt.Sprintf("the worktree of %s and its branch %s were removed: they were merged, or had no change", w.m.Name, w.tree.Branch)}
	}
	return w, nil
}

// takeable is find for what takes the member's work as it is: only the operator does, between turns and beside no merge of it.
func (o Operator) takeable(ctx context.Context, op, of, member string) (*work, error) {
	w, err := o.find(ctx, op, of, member)
	if err == nil {
		err = o.Guard(ctx, w.s, op)
	}
	if err == nil {
		err = w.working(op)
	}
	if err == nil {
		err = w.noneOpen(op)
	}
	return w, err
}

// open opens a team: the present one, else one that has ended.
func (o Operator) open(ctx context.Context, of string) (*work, error) {
	w := &work{live: true}
	name, err := o.Pick(of)
	switch {
	case operator.KindOf(err) == operator.NotFound:
		s, perr := o.Open(ctx, protocol.TeamName(of), operator.Read)
		if perr != nil || s.Foreign {
			return nil, err
		}
		if s.Damaged != nil {
			return nil, s.Damaged
		}
		w.s, w.live = s, false
	case err != nil:
		return nil, err
	default:
		if w.s, err = o.Open(ctx, name, operator.Act); err != nil {
			return nil, err
		}
	}
	w.live = w.live && w.s.Lead.Ended == nil
	return w, nil
}

// at fills in where the member works.
func (o Operator) at(w *work, op string) error {
	w.tree = worktree.Tree(*w.m.Worktree)
	git, err := worktree.Find(o.Environ)
	if err != nil {
		return &operator.Error{Kind: operator.Failed, Op: op, Err: err, Advice: "install git"}
	}
	w.store = worktree.Store{Git: git, Records: w.s.Dir.Worktrees(), Dir: filepath.Dir(w.tree.Path)}
	return nil
}

// findOpen finds a merge that was begun and has not ended, whatever its process does. member "" is the only
// one of the team.
func (o Operator) findOpen(ctx context.Context, of, member string) (*work, error) {
	w, err := o.open(ctx, of)
	if err != nil {
		return nil, err
	}
	is, err := worktree.Store{Records: w.s.Dir.Worktrees()}.Intents()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, i := range is {
		names = append(names, i.Member)
	}
	is = slices.DeleteFunc(is, func(i *worktree.Intent) bool {
		return member != "" && !protocol.SameName(protocol.MemberName(i.Member), protocol.MemberName(member))
	})
	switch {
	case len(is) == 0 && member != "":
		if _, err := newest(w.s, member); err != nil {
			return nil, err
		}
		return nil, noneInterrupted(member)
	case len(is) == 0:
		return nil, noneInterrupted("")
	case len(is) > 1:
		return nil, &operator.Error{Kind: operator.Usage, Op: op, Msg: "the merges of " + strings.Join(names, ", ") + " were interrupted: name one"}
	}
	for _, m := range w.s.Lead.Members {
		if m.Worktree != nil && m.Worktree.Path == is[0].Tree.Path {
			w.m = m
		}
	}
	if w.m == nil {
		return nil, &team.NotFoundError{What: "member", Name: is[0].Member}
	}
	return w, o.at(w, op)
}

func noneInterrupted(member string) error {
	text := "no merge was interrupted"
	if member != "" {
		text = "no merge of " + member + " was interrupted"
	}
	return &operator.Error{Kind: operator.NotFound, Op: op, Msg: text}
}

// newest returns the newest membership of a name; one with a worktree comes before one without.
func newest(s *operator.State, name string) (found *control.Member, err error) {
	ms, err := operator.Namesakes(s.Lead.Members, name)
	for _, m := range ms {
		if found == nil || m.Worktree != nil || found.Worktree == nil {
			found = m
		}
	}
	return found, err
}

// present reports a member that can be asked to do something.
func (w *work) present() bool { return w.live && w.m.Left == nil }

// confined reports a member whose commands run in a sandbox.
func (w *work) confined() bool { return w.tree.Mirror != "" }

// working refuses a member in the middle of a turn: half of its work would be taken.
func (w *work) working(op string) error {
	if !w.present() || w.m.Process == nil || !w.m.Process.ID.Alive() {
		return nil
	}
	fold, err := w.s.Worker(w.m.Instance)
	if err != nil {
		return err
	}
	if fold.Turn() == nil {
		return nil
	}
	return &operator.Error{Kind: operator.Refused, Op: op, Msg: fmt.Sprintf("%s is working", w.m.Name), Next: operator.NextAwaitEnd.With()}
}

// tasks are the orders that the member got, in their order.
func (w *work) tasks() []Task {
	out := []Task{}
	for _, a := range w.s.Lead.Assignments() {
		if a.Instance != w.m.Instance || a.Commanded == nil || a.Commanded.Task == nil {
			continue
		}
		t := Task{ID: a.Commanded.Task.ID, Subject: a.Commanded.Task.Subject, State: TaskOpen}
		if turn := w.m.Turns[t.ID]; w.m.Done[t.ID] != nil {
			t.State = TaskDone
		} else if turn != nil && turn.Failed {
			t.State = TaskFailed
		}
		out = append(out, t)
	}
	return out
}

// subject names the work in one line: the newest task of the member.
func (w *work) subject() string {
	ts := w.tasks()
	if len(ts) > 0 {
		if line := strings.TrimSpace(strings.SplitN(ts[len(ts)-1].Subject, "\n", 2)[0]); line != "" {
			return line
		}
	}
	return fmt.Sprintf("Work of %s", w.m.Name)
}

// about is the message of a commit of the member's work.
func (w *work) about() string {
	return fmt.Sprintf("%s\n\nWork of %s in team %s.\n", w.subject(), w.m.Name, w.s.Team)
}

// ordersOnly reports a member whose instructions are a command or whose steps are fixed: it cannot
// resolve a conflict.
func (w *work) ordersOnly() bool { return w.m.Agent == "exec" }

// explained gives an error of git its kind and the next step.
func (w *work) explained(op string, err error) error {
	var open *worktree.OpenError
	var missing *worktree.BranchError
	var busy *worktree.BusyError
	e := &operator.Error{Kind: operator.Failed, Op: op, Err: err}
	switch {
	case err == nil:
		return nil
	case errors.As(err, &open):
		if e.Kind = operator.Refused; open.Intent.Open() {
			e.Next = operator.Next{Step: operator.NextMergeOpen, Team: w.s.Team, Member: w.m.Name}
		}
	case errors.As(err, &missing):
		e.Kind, e.Next = operator.Usage, operator.NextInto.With()
		if missing.Missing {
			e.Kind = operator.NotFound
		}
	case errors.As(err, new(*worktree.DirtyError)):
		e.Kind, e.Advice = operator.Refused, "commit those files there, or put them away, and merge again"
	case errors.As(err, new(*worktree.MovedTargetError)):
		e.Kind, e.Advice = operator.Refused, "merge again"
	case errors.As(err, &busy):
		e.Kind, e.Advice = operator.Refused, "finish or abort it first: git -C "+busy.Path+" status"
	case errors.As(err, new(*worktree.MismatchError)):
		e.Kind, e.Advice = operator.Refused, "put the worktree back on its branch"
	case errors.As(err, new(*worktree.GoneError)):
		e.Kind, e.Advice = operator.NotFound, "waggle removes both when they hold no change of their own, or after merge; git log of your branch has what was merged"
	case !errors.As(err, new(*worktree.GitError)):
		return err
	}
	return e
}

// Some names the first ten of many files in a line, and how many there are besides.
func Some(files []string) string { return worktree.Some(files) }

// name is the name of the member.
func (w *work) name() string { return string(w.m.Name) }
