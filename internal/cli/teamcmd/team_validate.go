package teamcmd

import (
	"github.com/spf13/cobra"

	"waggle/internal/cli/app"
	"waggle/internal/view"
	"waggle/internal/view/page"
	"waggle/operator/teams"
)

func teamValidateCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "validate [TEAM]",
		Short: "Check a team's files against their formats",
		Long: `Check a team's registry, mailboxes, tasks and status files against their formats.

For each problem the command prints the file, the place in it as a JSON pointer, and what
is wrong. It changes nothing. Exit code 1 when there are problems. --json:
{"problems":[{"path","pointer","message"}]}.`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.CompleteTeams,
		RunE: func(cmd *cobra.Command, args []string) error {
			op, name, err := a.TeamArgRead(cmd.Context(), args)
			if err != nil {
				return err
			}
			problems, err := teams.Of(op).Validate(cmd.Context(), name)
			if err != nil {
				return err
			}
			if err := a.Give(view.Problems(problems), view.ProblemsPage(problems, name)); err != nil || len(problems) == 0 {
				return err
			}
			if !a.Flags.JSON {
				a.Talk("%s", app.Red(page.Count(len(problems), "problem")))
			}
			return app.ExitError(app.ExitFailed)
		},
	}
}
