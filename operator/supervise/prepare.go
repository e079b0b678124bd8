package supervise

import (
	"context"
	"errors"

	"waggle/control"
	"waggle/operator"
	"waggle/operator/process"
	"waggle/record"
)

// prepare prepares the worktree of a member as its record says, before the member's first start.
func (o Operator) prepare(ctx context.Context, s *operator.State, m *control.Member, note func(operator.Note)) error {
	if m.Worktree == nil {
		return nil
	}
	want, err := o.PreparationOf(ctx, s, m)
	if err != nil {
		return err
	}
	return process.Of(o.Operator).Prepare(ctx, s, m, want, note)
}

// PreparationOf is what the worktree of a member gets, as the operator accepted it.
func (o Operator) PreparationOf(ctx context.Context, s *operator.State, m *control.Member) (record.Preparation, error) {
	if m.Prepare != nil {
		return *m.Prepare, nil
	}
	return o.preparedBefore(ctx, s, m)
}

// preparedBefore is the preparation of a member whose record is of a version that did not write it.
func (o Operator) preparedBefore(ctx context.Context, s *operator.State, m *control.Member) (want record.Preparation, err error) {
	f, err := o.from(s)
	if err != nil {
		return want, err
	}
	want = f.Prepared(string(m.Name))
	files, err := process.Of(o.Operator).Included(ctx, m.Worktree.Repo)
	want.Copy = append(files, want.Copy...)
	return want, err
}

// unblocked takes out of the errors of starts those of members whose setup failed, and notes them:
// such a member stays in the team, blocked, and waits for a resume.
func (k *keeper) unblocked(err error) error {
	var setup *process.SetupError
	joined, many := err.(interface{ Unwrap() []error })
	if !many {
		if errors.As(err, &setup) {
			k.Note(operator.Note{What: "blocked", Member: setup.Member, Text: "setup: " + setup.Why + "; its log is " + setup.Log})
			return nil
		}
		return err
	}
	var rest []error
	for _, e := range joined.Unwrap() {
		rest = append(rest, k.unblocked(e))
	}
	return errors.Join(rest...)
}
