package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"waggle/internal/cli/app"
	"waggle/internal/view"
	"waggle/internal/view/resultview"
	"waggle/operator"
	"waggle/operator/results"
)

func diffCmd(a *app.App) *cobra.Command {
	var stat bool
	cmd := &cobra.Command{
		Use:   "diff NAME",
		Short: "Show what a member changed in its worktree",
		Long: `Show what a member changed in its worktree, compared with the commit that the worktree
began at: committed, staged, not staged and new files, without those that git ignores.
When the member moved its work onto newer commits of the branch that the worktree came
from, it is compared with those. The command changes nothing, and also finds a member that
has left. Into a file or a pipe the diff is written as it is; exit 1 when it is cut.

--json: {"team","member","branch","path","base","head","files":[{"path","added","deleted",
"binary"}],"uncommitted","cut","diff"}; diff is "" with --stat.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.CompleteMembers,
		RunE: func(cmd *cobra.Command, args []string) error {
			op, of, err := a.TeamWith(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			d, err := results.Of(op).Diff(cmd.Context(), of, args[0])
			if err != nil {
				return err
			}
			return showDiff(a, d, stat)
		},
	}
	cmd.Flags().BoolVar(&stat, "stat", false, "only the files, with the numbers of lines")
	return cmd
}

func showDiff(a *app.App, d *results.Diff, stat bool) error {
	switch {
	case a.Flags.JSON:
		return a.Document(resultview.Diff(d, stat))
	case len(d.Files) == 0:
		a.Talk("%s has changed nothing since %.12s", d.Member, d.Base)
		return nil
	case stat:
		a.ShowPage(resultview.DiffStatPage(d), "", nil)
		return nil
	case app.Tty(a.Out):
		a.ShowPage(view.DiffPage(d.Text), "", nil)
	default:
		if err := a.Put(d.Text); err != nil {
			return err
		}
	}
	if d.More {
		return &operator.Error{Kind: operator.Failed, Op: "diff", Msg: fmt.Sprintf("the diff is longer than waggle reads, and was cut; git shows all of it in %s, since %.12s", operator.Visible(d.Path), d.Base)}
	}
	return nil
}
