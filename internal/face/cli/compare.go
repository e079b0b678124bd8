package cli

import (
	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/view/resultview"
	"waggle/operator/results"
)

func compareCmd(a *app.App) *cobra.Command {
	var check bool
	cmd := &cobra.Command{
		Use:   "compare NAME NAME...",
		Short: "Show the work of several members side by side",
		Long: `Show the work of several members of one team side by side, such as the attempts of waggle
new --attempts: the state of the newest task, how many files and lines are changed, and
with --check whether check of the team file passes in each worktree. The check of a
confined member runs in a sandbox; a member that is working is not checked.

waggle diff NAME shows the change whole, waggle merge NAME keeps it. The others and their
worktrees stay until you end them.

--json: {"compared":[{"team","member","branch","task","state","working","added","deleted",
"files","cut","check"}]}; files and cut as for diff, check as for merge, null when it did
not run.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			op, of, err := a.TeamWith(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			cs, err := results.Of(op).Compare(cmd.Context(), of, args, check, said(a, op, results.MergeOptions{}))
			if err != nil {
				return err
			}
			return a.Give(map[string]any{"compared": cs}, resultview.ComparePage(cs))
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "run check of the team file in each worktree")
	return cmd
}
