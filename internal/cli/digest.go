package cli

import (
	"time"

	"github.com/spf13/cobra"

	"waggle"
	"waggle/internal/view"
	"waggle/operator/inspect"
)

func digestCmd(a *App) *cobra.Command {
	var since string
	cmd := &cobra.Command{
		Use:   "digest [TEAM]",
		Short: "What happened while you were away, and what waits for you now",
		Long: `What happened since you last detached or decided something, whichever came later, or
since the time that --since names: tasks that were completed or failed, members that
died, were restarted or left, decisions that rules, the lead's agent or the deadline
made, messages for you, and what waits for you now, with the command that you would give
next. It marks nothing as read. A team that has ended is found too. Of a team that
another program leads, or led, it is what was done from here: who was registered, what
was sent, what guests did and what their lead decided. The team "-" is
that of the sessions that you started yourself; it is also meant where there is no team:
what they asked, and who answered, as {"since","events"} with --json (audit query).

--json: {"team","since","since_why","state","results":[{"at","member","task","subject",
"outcome","note","next"}],"members":[{"at","member","what","detail","next"}],
"decisions":[{"at","id","member","asks","decision","by","via","rule","reason","next"}],
"calls":{"allowed","denied":[…]},"messages":[{"at","from","text","read"}],
"sent":[{"at","from","to","text"}],
"waiting":[{"id","member","asks","risk","age_s","asker","next"}],"trouble":[…]}; trouble
lists the members that are dead, stalled or unknown now, like members.`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completePast,
		RunE: func(cmd *cobra.Command, args []string) error {
			var from time.Time
			if since != "" {
				var err error
				if from, err = a.ago(since); err != nil {
					return err
				}
			}
			only, err := a.onlySessions(args)
			if err != nil {
				return err
			}
			if only {
				return a.digestSessions(from)
			}
			op, of, err := a.past(args)
			if err != nil {
				return err
			}
			d, err := inspect.Of(op).Digest(cmd.Context(), of, from)
			if err != nil {
				return err
			}
			if a.flags.json {
				return a.document(view.Digest(d, a.Now(), stepText))
			}
			a.show(view.DigestPage(d, a.Now().Local()), waggle.TeamName(d.Team), nil)
			if len(args) == 0 && a.flags.team == "" {
				return a.sayDigestSessions(op, d.Since, false)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&since, "since", "", "2h, 7d, 2026-11-20; your last decision unless said")
	return cmd
}
