package teamcmd

import (
	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/view"
	"waggle/internal/face/view/page"
	"waggle/operator"
	"waggle/operator/teams"
	"waggle/protocol"
)

func teamValidateCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "validate [TEAM]",
		Short: "Check a team's files against their formats",
		Long: `Check a team's registry, mailboxes, tasks and status files against their formats.

For each problem the command prints the file, the place in it as a JSON pointer, and what
is wrong. Colours and backends of members that no document has are problems; docker and
k8s are named as reserved. It changes nothing. Exit code 1 when there are problems.
--json: {"problems":[{"path","pointer","message"}]}.`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.CompleteTeams,
		RunE: a.TeamArg(func(cmd *cobra.Command, _ []string) error {
			return a.EachTeam(cmd.Context(), a.TeamRead, func(op operator.Operator, name protocol.TeamName) (app.Output, error) {
				problems, err := teams.Of(op).Validate(cmd.Context(), name)
				if err != nil {
					return app.Output{}, err
				}
				x := app.Output{Doc: map[string]any{"problems": problems}, Page: view.ProblemsPage(problems, name)}
				if len(problems) == 0 {
					return x, nil
				}
				x.Talk = app.Red(page.Count(len(problems), "problem"))
				return x, app.ExitError(app.ExitFailed)
			})
		}),
	}
}
