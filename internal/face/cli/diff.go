package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/view"
	"waggle/internal/face/view/resultview"
	"waggle/operator"
	"waggle/operator/results"
)

func diffCmd(a *app.App) *cobra.Command {
	var stat bool
	var do results.DiffOptions
	cmd := &cobra.Command{
		Use:   "diff NAME",
		Short: "Show what a member changed in its worktree",
		Long: `Show what a member changed in its worktree, compared with the commit that the worktree
began at: committed, staged, not staged and new files, without those that git ignores.
When the member moved its work onto newer commits of the branch that the worktree came
from, it is compared with those. The command changes nothing, and also finds a member that
has left. Into a file or a pipe it is a patch for git apply, binary files included; exit 1
when it is cut.

--turn N shows what one turn changed. The turns that changed a file count from 1, and the
newest 50 are on record until the work is merged or gone, as refs/waggle/TEAM/NAME/N in
the repository. A number that is not is exit 9, with those that are. Of a turn, new files
larger than 4 MiB, and more than 5000 or 64 MiB of them, are left out.

--json: {"team","member","turn","branch","path","base","head","files":[{"path","added",
"deleted","binary"}],"uncommitted","cut","diff"}; turn only with --turn, diff is "" with
--stat.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			op, of, err := a.TeamWith(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("turn") && do.Turn < 1 {
				return &operator.Error{Kind: operator.Usage, Op: "diff", Msg: "turns count from 1"}
			}
			do.Patch = !stat && !a.Flags.JSON && !app.Tty(a.Out)
			d, err := results.Of(op).Diff(cmd.Context(), of, args[0], do)
			if err != nil {
				return err
			}
			return showDiff(a, d, stat)
		},
	}
	cmd.Flags().IntVar(&do.Turn, "turn", 0, "only what this turn changed, from 1 (default: all work)")
	cmd.Flags().BoolVar(&stat, "stat", false, "only the files, with the numbers of lines")
	return cmd
}

func showDiff(a *app.App, d *results.Diff, stat bool) error {
	switch {
	case a.Flags.JSON:
		if stat {
			d.Text = ""
		}
		return a.Document(d)
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
