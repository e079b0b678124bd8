package results

import (
	"context"

	"waggle/operator"
)

// Compared is one member's work beside that of others.
type Compared struct {
	Team    string       `json:"team"`
	Member  string       `json:"member"`
	Branch  string       `json:"branch"`
	Task    string       `json:"task"`    // the subject of its newest task
	State   string       `json:"state"`   // of that task: TaskDone, TaskFailed, TaskOpen
	Working bool         `json:"working"` // it is in the middle of a turn
	Added   int          `json:"added"`
	Deleted int          `json:"deleted"`
	Files   []FileChange `json:"files"`
	Cut     bool         `json:"cut"`   // there are more files
	Check   *Checked     `json:"check"` // nil: it did not run
}

// Compare shows the work of several members of one team side by side. It changes nothing, but a check
// that it runs may write files that git ignores. A check that fails is part of the result, not an error.
// check runs the check of the team file in each worktree, but not in that of a member that works; of mo,
// Confine, Output and Note count.
func (o Operator) Compare(ctx context.Context, of string, members []string, check bool, mo MergeOptions) ([]Compared, error) {
	out := make([]Compared, 0, len(members))
	for _, name := range members {
		w, err := o.find(ctx, "compare", of, name)
		if err != nil {
			return nil, err
		}
		d, err := w.diff(ctx, "compare")
		if err != nil {
			return nil, err
		}
		c := Compared{Team: d.Team, Member: d.Member, Branch: d.Branch, State: TaskOpen, Working: operator.KindOf(w.working("compare")) == operator.Refused, Files: d.Files, Cut: d.More}
		c.Added, c.Deleted = d.Lines()
		if ts := w.tasks(); len(ts) > 0 {
			c.Task, c.State = w.subject(), ts[len(ts)-1].State
		}
		if check && !c.Working {
			if c.Check, err = o.checked(ctx, w, mo); err != nil {
				return nil, err
			}
		}
		out = append(out, c)
	}
	return out, nil
}

// checked runs the check of the team file in a worktree; nil when there is none.
func (o Operator) checked(ctx context.Context, w *work, mo MergeOptions) (*Checked, error) {
	check, err := o.checkOf(w)
	if err != nil {
		return nil, err
	}
	c, err := o.check(ctx, w, check, w.tree, mo)
	if c != nil && c.Status != 0 && ctx.Err() == nil {
		return c, nil
	}
	return c, err
}
