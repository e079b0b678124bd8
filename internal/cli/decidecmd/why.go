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
		Short: "How a member is, since when, and what says so",
		Long: `How a member is, since when, and what says so: the journals, its process, its
mailbox, its output. A member that has left is found too, also when its team has ended. --json: {"team","name",
"state","since","why","trust","evidence":[{"source","at","detail"}]}.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.CompleteMembers,
		RunE: func(cmd *cobra.Command, args []string) error {
			op, of, err := Past(a, nil)
			if err != nil {
				return err
			}
			y, err := inspect.Of(op).Why(cmd.Context(), of, args[0])
			if err != nil {
				return err
			}
			return a.Give(view.Why(y), view.WhyPage(y, a.Now()))
		},
	}
}
