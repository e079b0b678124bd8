package teamcmd

import (
	"github.com/spf13/cobra"

	"waggle"
	"waggle/internal/cli/app"
	"waggle/internal/view"
	"waggle/operator"
	"waggle/operator/teams"
)

func Adopt(a *app.App) *cobra.Command {
	var ao teams.AdoptOptions
	cmd := &cobra.Command{
		Use:   "adopt --pid N | --session UUID --as NAME",
		Short: "Make a running session that waggle did not start a member",
		Long: `A running session becomes a member as it is: it is not restarted, not interrupted and
never signalled. Its process is on record by pid and start time, so status says whether
it lives. What can be done with it and what cannot is printed: its tool calls are not
gated, and stop and down only ask it by message and let it go.

--session finds the process of a session of Claude Code by the files of its team: the
config.json whose leadSessionId is that id names it (leadProcess). Refused are processes
that are gone, of another user, process 1, and those that are members already. A process
that this command runs below may be named; commands that are given below it are that
member's from then on, so that you decide from another terminal.

--json: {"team","name","instance","pid","start","session","above","trust",
"controls":[{"what","can","how"}]}.`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.Flags.As == "" {
				return &operator.Error{Kind: operator.Usage, Op: "adopt", Msg: "what is the member to be called?", Advice: "--as NAME"}
			}
			var err error
			if ao.As, err = waggle.ParseMember(a.Flags.As); err != nil {
				return &operator.Error{Kind: operator.Usage, Op: "adopt", Err: err}
			}
			op, name, err := a.Team()
			if err != nil {
				return err
			}
			got, err := teams.Of(op).Adopt(cmd.Context(), name, ao)
			if err != nil {
				return err
			}
			if err := a.Give(view.Adopted(got, app.StepText), view.AdoptedPage(got, app.StepText)); err != nil || a.Flags.JSON {
				return err
			}
			a.Tell(view.AdoptedNotes(got), name)
			return nil
		},
	}
	cmd.Flags().IntVar(&ao.PID, "pid", 0, "the session's process")
	cmd.Flags().StringVar(&ao.Session, "session", "", "the session's id (UUID) of Claude Code")
	return cmd
}
