package teamcmd

import (
	"time"

	"github.com/spf13/cobra"

	"waggle/internal/cli/app"
	"waggle/internal/view"
	"waggle/operator"
	"waggle/operator/process"
)

const stopCodes = `
Exit code: 0 it agreed, or was not asked (--force); 6 it refused and was ended;
4 it did not answer in time and was ended; 5 it was dead already; 1 it could not be
ended.`

func Stop(a *app.App) *cobra.Command {
	var so process.StopOptions
	cmd := &cobra.Command{
		Use:   "stop NAME",
		Short: "End one member: ask, then signal",
		Long: `End one member. It is asked to end, and asked again when it refuses; when the grace is
over its input is closed, then its processes get SIGTERM, then SIGKILL, and their end is
verified. That takes ten seconds more at most. --force does not ask.
` + stopCodes,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.CompleteMembers,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.GraceSaid(cmd, &so.Grace); err != nil {
				return err
			}
			op, name, err := a.Team()
			if err != nil {
				return err
			}
			so.Note = a.SayNote
			end, err := process.Of(op).Stop(cmd.Context(), name, args[0], so)
			if err != nil {
				return err
			}
			if err = a.Give(view.MemberEnd(*end), view.MemberEndPage(*end)); err == nil && end.Kind() != operator.None {
				err = app.ExitError(app.ExitCode(end.Kind()))
			}
			return err
		},
	}
	cmd.Flags().DurationVar(&so.Grace, "grace", 10*time.Second, "time for it to end by itself")
	cmd.Flags().BoolVar(&so.Force, "force", false, "do not ask")
	return cmd
}

func Down(a *app.App) *cobra.Command {
	var so process.StopOptions
	cmd := &cobra.Command{
		Use:   "down [TEAM]",
		Short: "End a team: ask each member, then signal those that do not end",
		Long: `End a team: every member is asked to end; those that have not when the grace is over
get SIGTERM, then SIGKILL. A process that leads the team is asked to do it. The team's
files are archived.

Exit code: 0 every member agreed; 6 one refused and was ended; 4 one did not answer in
time and was ended.`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.CompleteTeams,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.GraceSaid(cmd, &so.Grace); err != nil {
				return err
			}
			op, name, err := a.TeamArg(args)
			if err != nil {
				return err
			}
			so.Note = a.SayNote
			d, err := process.Of(op).Down(cmd.Context(), name, so)
			if err != nil {
				return err
			}
			if err = a.Give(view.Ended(d), view.EndedPage(d)); err == nil && d.Kind() != operator.None {
				err = app.ExitError(app.ExitCode(d.Kind()))
			}
			return err
		},
	}
	cmd.Flags().DurationVar(&so.Grace, "grace", 10*time.Second, "time for members to end by themselves")
	cmd.Flags().BoolVar(&so.Force, "force", false, "do not ask")
	return cmd
}
