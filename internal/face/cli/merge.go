package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/cli/decidecmd"
	"waggle/internal/face/view/resultview"
	"waggle/operator"
	"waggle/operator/inspect"
	"waggle/operator/reach"
	"waggle/operator/results"
	"waggle/record"
	"waggle/spawn"
)

// mergeFlags are the flags of merge.
type mergeFlags struct {
	results.MergeOptions
	squash, rebase, plan, goOn, abort bool
}

func mergeCmd(a *app.App) *cobra.Command {
	var m mergeFlags
	cmd := &cobra.Command{
		Use:   "merge [NAME]",
		Short: "Merge a member's work into a branch, and remove its worktree",
		Long: `Merge what a member changed into the branch that its worktree was made from, or into
--into. In this order the command: commits what the member has not committed, and shows
the message; merges in a scratch checkout of the target; gives it what the worktree got
(copies, links, setup) and runs check of the team file there, on the merged result; moves
the target and the files of the checkouts that are on it; stops the member when it has no
open task; removes worktree and branch.

What you have not committed in those checkouts stays as it is, the index too. A merge that
would change one of those files is refused, and names them (exit 6); so is one beside a
rebase or merge in progress, and of a member that is working.

After any failure the target is as it was. A check that fails is exit 1. A conflict
becomes a task of the member (exit 6); of a member that runs commands only, it is yours.
The command says which of your git hooks ran. Of a confined member none runs, and setup
and check run in a sandbox.

A merge whose process was killed stays on record, and status shows it. --continue finishes
it, with the settings that it was begun with; --abort takes it back: the target and your
files are as before. NAME may be omitted when there is one.

--json: {"team","member","branch","into","how","commit","message","files","check":
{"command","dir","confined","exit","output_tail","took_ms"},"before","result","changed",
"untouched","hooks","no_hooks","conflict","task","stopped","removed","kept"}, also after a
failed check or a conflict; with --plan {"team","member","branch","into","how","check",
"files","uncommitted"}; with --abort {"team","member","branch","into","at","path"}.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case m.goOn && m.abort:
				return &operator.Error{Kind: operator.Usage, Op: "merge", Msg: "give --continue or --abort, not both"}
			case m.goOn || m.abort:
				for _, f := range []string{"into", "squash", "rebase", "keep", "message", "plan"} {
					if cmd.Flags().Changed(f) {
						return &operator.Error{Kind: operator.Usage, Op: "merge", Msg: "the merge that was interrupted has its settings: --" + f + " changes none of them"}
					}
				}
			case len(args) == 0:
				return &operator.Error{Kind: operator.Usage, Op: "merge", Msg: "name the member whose work is to be merged"}
			case m.squash && m.rebase:
				return &operator.Error{Kind: operator.Usage, Op: "merge", Msg: "give --squash or --rebase, not both"}
			case m.squash:
				m.How = results.HowSquash
			case m.rebase:
				m.How = results.HowRebase
			}
			return merge(cmd.Context(), a, append(args, "")[0], m)
		},
	}
	f := cmd.Flags()
	f.StringVar(&m.Into, "into", "", "the branch to merge into (default: the one that the worktree was made from)")
	f.BoolVar(&m.squash, "squash", false, "as one commit")
	f.BoolVar(&m.rebase, "rebase", false, "as commits on top of the branch, without a merge commit")
	f.BoolVar(&m.Keep, "keep", false, "keep the worktree, its branch and the member")
	f.BoolVar(&m.goOn, "continue", false, "finish a merge that was interrupted")
	f.BoolVar(&m.abort, "abort", false, "take back a merge that was interrupted")
	f.StringVarP(&m.Message, "message", "m", "", "the message of the commits that are made (default: the member's newest task)")
	a.GraceFlag(cmd, &m.Grace, "time for the member to end by itself")
	app.PlanFlag(cmd, &m.plan, "show what would be merged, without trying it, and change nothing")
	return cmd
}

// merge merges, or does what the flags say instead: it shows the plan, or finishes or takes back what was interrupted.
func merge(ctx context.Context, a *app.App, member string, f mergeFlags) error {
	op, of, err := takenFrom(ctx, a, member)
	if err != nil {
		return err
	}
	mo := said(a, op, f.MergeOptions)
	var m *results.Merged
	switch {
	case f.plan:
		p, err := results.Of(op).PlanMerge(ctx, of, member, mo)
		if err != nil {
			return err
		}
		return a.Give(p, resultview.MergePlanPage(p))
	case f.abort:
		back, err := results.Of(op).AbortMerge(ctx, of, member, mo)
		if back == nil {
			return err
		}
		return errors.Join(err, a.Give(back, resultview.AbortedPage(back)))
	case f.goOn:
		m, err = results.Of(op).ContinueMerge(ctx, of, member, mo)
	default:
		m, err = results.Of(op).Merge(ctx, of, member, mo)
	}
	if m == nil {
		return err
	}
	return errors.Join(err, a.Give(m, resultview.MergedPage(m)))
}

// takenFrom names the team whose member's work is taken: that of --team, else the one that has or had the member. member
// "" is the one whose merge was interrupted.
func takenFrom(ctx context.Context, a *app.App, member string) (operator.Operator, string, error) {
	op, of, err := decidecmd.Past(a, nil)
	if err == nil && of == "" && member != "" {
		of, err = inspect.Of(op).TeamTaken(ctx, member)
	}
	return op, of, err
}

// said is the settings of a merge that speaks to the person and confines what it runs.
func said(a *app.App, op operator.Operator, mo results.MergeOptions) results.MergeOptions {
	mo.Note, mo.Output, mo.Confine = a.SayNote, quiet{a}, confined(op)
	return mo
}

// quiet writes what a command that waggle runs says to stderr, as visible text.
type quiet struct{ a *app.App }

func (q quiet) Write(p []byte) (int, error) {
	if q.a.Flags.Quiet {
		return len(p), nil
	}
	_, err := io.WriteString(q.a.Err, operator.VisibleOutput(string(p)))
	return len(p), err
}

// confined returns what wraps a command for a sandbox of a directory.
func confined(op operator.Operator) results.Confine {
	return func(ctx context.Context, tree string, c spawn.Command) (spawn.Command, func() error, error) {
		program, err := app.Relay()
		if err != nil {
			return c, nil, err
		}
		b, err := reach.Of(op).OpenBox(ctx, program, reach.Where{Dir: tree})
		if err != nil {
			return c, nil, err
		}
		if t := b.Tested(); t.Level == record.HeldOff {
			return c, nil, errors.Join(&operator.Error{Kind: operator.Refused, Op: "merge", Msg: fmt.Sprintf("the check cannot be confined: %s", t.Why), Advice: t.Fix}, b.Close())
		}
		r, err := b.Prepare(c)
		if err != nil {
			return c, nil, errors.Join(err, b.Close())
		}
		end := func() error {
			exit, err := r.Close()
			if err == nil && exit != nil && exit.Code != 0 {
				err = fmt.Errorf("exit status %d", exit.Code)
			}
			return errors.Join(err, b.Close())
		}
		c.Argv, c.Env = r.Argv, r.Env
		return c, end, nil
	}
}
