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

func mergeCmd(a *app.App) *cobra.Command {
	var mo results.MergeOptions
	var squash, rebase, plan, goOn, abort bool
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
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.CompleteMembers,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case goOn && abort:
				return &operator.Error{Kind: operator.Usage, Op: "merge", Msg: "give --continue or --abort, not both"}
			case goOn || abort:
				for _, f := range []string{"into", "squash", "rebase", "keep", "message", "plan"} {
					if cmd.Flags().Changed(f) {
						return &operator.Error{Kind: operator.Usage, Op: "merge", Msg: "the merge that was interrupted has its settings: --" + f + " changes none of them"}
					}
				}
				return endMerge(cmd.Context(), a, append(args, "")[0], mo, abort)
			case len(args) == 0:
				return &operator.Error{Kind: operator.Usage, Op: "merge", Msg: "name the member whose work is to be merged"}
			case squash && rebase:
				return &operator.Error{Kind: operator.Usage, Op: "merge", Msg: "give --squash or --rebase, not both"}
			case squash:
				mo.How = results.HowSquash
			case rebase:
				mo.How = results.HowRebase
			}
			if plan {
				return planMerge(cmd.Context(), a, args[0], mo)
			}
			return merge(cmd.Context(), a, args[0], mo)
		},
	}
	f := cmd.Flags()
	f.StringVar(&mo.Into, "into", "", "the branch to merge into (default: the one that the worktree was made from)")
	f.BoolVar(&squash, "squash", false, "as one commit")
	f.BoolVar(&rebase, "rebase", false, "as commits on top of the branch, without a merge commit")
	f.BoolVar(&mo.Keep, "keep", false, "keep the worktree, its branch and the member")
	f.BoolVar(&goOn, "continue", false, "finish a merge that was interrupted")
	f.BoolVar(&abort, "abort", false, "take back a merge that was interrupted")
	f.StringVarP(&mo.Message, "message", "m", "", "the message of the commits that are made (default: the member's newest task)")
	a.GraceFlag(cmd, &mo.Grace, "time for the member to end by itself")
	app.PlanFlag(cmd, &plan, "show what would be merged, without trying it, and change nothing")
	return cmd
}

func merge(ctx context.Context, a *app.App, member string, mo results.MergeOptions) error {
	op, of, err := takenFrom(ctx, a, member)
	if err != nil {
		return err
	}
	mo = said(a, op, mo)
	m, err := results.Of(op).Merge(ctx, of, member, mo)
	return giveMerged(a, m, err)
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

func giveMerged(a *app.App, m *results.Merged, err error) error {
	if m == nil {
		return err
	}
	return errors.Join(err, a.Give(m, resultview.MergedPage(m)))
}

// endMerge finishes or takes back a merge that was interrupted.
func endMerge(ctx context.Context, a *app.App, member string, mo results.MergeOptions, abort bool) error {
	op, of, err := takenFrom(ctx, a, member)
	if err != nil {
		return err
	}
	mo = said(a, op, mo)
	if !abort {
		m, err := results.Of(op).ContinueMerge(ctx, of, member, mo)
		return giveMerged(a, m, err)
	}
	back, err := results.Of(op).AbortMerge(ctx, of, member, mo)
	if back == nil {
		return err
	}
	return errors.Join(err, a.Give(back, resultview.AbortedPage(back)))
}

func planMerge(ctx context.Context, a *app.App, member string, mo results.MergeOptions) error {
	op, of, err := takenFrom(ctx, a, member)
	if err != nil {
		return err
	}
	m, err := results.Of(op).PlanMerge(ctx, of, member, mo)
	if err != nil {
		return err
	}
	return a.Give(resultview.MergePlan(m), resultview.MergePlanPage(m))
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
func confined(op operator.Operator) func(context.Context, string, results.Command) (results.Command, func() error, error) {
	return func(ctx context.Context, tree string, c results.Command) (results.Command, func() error, error) {
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
		r, err := b.Prepare(spawn.Command{Argv: c.Argv, Dir: c.Dir, Env: c.Env})
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
		return results.Command{Argv: r.Argv, Dir: c.Dir, Env: r.Env}, end, nil
	}
}
