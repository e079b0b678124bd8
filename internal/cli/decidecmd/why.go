package decidecmd

import (
	"github.com/spf13/cobra"

	"waggle/internal/cli/app"
	"waggle/internal/view"
	"waggle/operator/inspect"
)

func Why(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "why NAME",
		Short: "Show a member's state, its age, and the evidence",
		Long: `Show a member's state, its age, and the evidence: journals, process, mailbox and output.
The command finds NAME in all teams, also a member that has left, and one of an ended
team; where several teams have one, --team, WAGGLE_TEAM or the team of this directory says
which.
--json: {"team","name","state","since","why","trust","evidence":[{"source","at",
"detail"}]}.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.CompleteMembers,
		RunE: func(cmd *cobra.Command, args []string) error {
			op, of, err := a.TeamWith(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			y, err := inspect.Of(op).Why(cmd.Context(), of, args[0])
			if err != nil {
				return err
			}
			return a.Give(view.Why(y), view.WhyPage(y, a.Clock()))
		},
	}
}
