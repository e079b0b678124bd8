package decidecmd

import (
	"time"

	"github.com/spf13/cobra"

	"waggle"
	"waggle/internal/cli/app"
	"waggle/internal/view"
	"waggle/operator/inspect"
)

func Digest(a *app.App) *cobra.Command {
	var since string
	cmd := &cobra.Command{
		Use:   "digest [TEAM]",
		Short: "Show what happened while you were away, and the open requests",
		Long: `What happened since you last detached or decided something, whichever came later, or
since the time that --since names: tasks that were completed or failed, members that
died, were restarted or left, decisions that rules, the lead's agent or the deadline
made, messages for you, and the open requests, each with the next command. It marks
nothing as read, and also finds a team that has ended. For a team that another program
leads, or led, it lists what you did there: registered members, sent messages, the work
of guests and the decisions of their lead. The team "-" stands for the sessions that you
started yourself, and is the default where there is no team: their requests, and who
answered, as {"since","events"} with --json (audit query).

--json: {"team","since","since_why","state","results":[{"at","member","task","subject",
"outcome","note","next"}],"members":[{"at","member","what","detail","next"}],
"decisions":[{"at","id","member","asks","decision","by","via","rule","reason","next"}],
"calls":{"allowed","denied":[…]},"messages":[{"at","from","text","read"}],
"sent":[{"at","from","to","text"}],
"waiting":[{"id","member","asks","risk","age_s","asker","next"}],"trouble":[…]}; trouble
lists the members that are dead, stalled or unknown now, like members.`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.CompletePast,
		RunE: func(cmd *cobra.Command, args []string) error {
			var from time.Time
			if since != "" {
				var err error
				if from, err = ago(a, since); err != nil {
					return err
				}
			}
			only, err := onlySessions(a, args)
			if err != nil {
				return err
			}
			if only {
				return digestSessions(a, from)
			}
			op, of, err := Past(a, args)
			if err != nil {
				return err
			}
			d, err := inspect.Of(op).Digest(cmd.Context(), of, from)
			if err != nil {
				return err
			}
			if a.Flags.JSON {
				return a.Document(view.Digest(d, a.Now(), app.StepText))
			}
			a.ShowPage(view.DigestPage(d, a.Now().Local()), waggle.TeamName(d.Team), nil)
			if len(args) == 0 && a.Flags.Team == "" {
				return sayDigestSessions(a, op, d.Since, false)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&since, "since", "", "2h, 7d, 2026-11-20; your last decision unless said")
	return cmd
}
