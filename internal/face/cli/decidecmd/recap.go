package decidecmd

import (
	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/view"
	"waggle/internal/face/view/page"
	"waggle/operator/inspect"
	"waggle/protocol"
)

func Recap(a *app.App) *cobra.Command {
	var since string
	cmd := &cobra.Command{
		Use:   "recap [TEAM]",
		Short: "Show what happened while you were away, and the open requests",
		Long: `Show what happened since you last detached or decided something, whichever was later, or
since the time of --since: tasks that were completed or failed, members that died, were
restarted or left, decisions of the rules, of the lead's agent or by deadline, messages
for you, and the open requests, each with the next command. The command marks nothing as
read, and also finds a team that has ended. For a team that another program leads, or
led, it lists what you did there: registered members, sent messages, the work of guests
and the decisions of their lead. The team "-" stands for the sessions that you started
yourself, and is the default where there is no team: their requests, and who answered,
as {"since","events"} with --json (audit query). Without a team the recap is that of all
teams here.

--json: {"team","since","since_why","state","results":[{"at","member","task","subject",
"outcome","note","next"}],"members":[{"at","member","what","detail","next"}],
"decisions":[{"at","id","member","asks","decision","by","via","rule","reason","next"}],
"calls":{"allowed","denied":[…]},"messages":[{"at","from","text","read"}],
"sent":[{"at","from","to","text"}],
"waiting":[{"id","member","asks","risk","age_s","asker","next"}],"trouble":[…]}; trouble
lists the members that have failed, are blocked or unknown now, like members. Of several
teams: {"recaps":[…]}.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			from, err := ago(a, since)
			if err != nil {
				return err
			}
			op, err := a.Op()
			if err != nil {
				return err
			}
			only, err := onlySessions(a, op, args)
			if err != nil {
				return err
			}
			if only {
				return recapSessions(a, op, from, true)
			}
			_, of, err := a.Listed(args)
			if err != nil {
				return err
			}
			ds, err := openEach(a, of, func(name string) (*inspect.Recap, error) { return inspect.Of(op).Recap(cmd.Context(), name, from) })
			if err != nil {
				return err
			}
			if a.Flags.JSON {
				return a.Document(recapDocument(a, ds))
			}
			name, oldest := protocol.TeamName(""), ds[0].Since
			for _, d := range ds {
				if d.Since.Before(oldest) {
					oldest = d.Since
				}
			}
			if len(ds) == 1 {
				name = protocol.TeamName(ds[0].Team)
			}
			all := len(args) == 0 && a.Flags.Team == ""
			if len(args) > 0 {
				a.Flags.Team = args[0] // the next steps name it too
			}
			a.ShowPage(view.RecapPage(a.Clock(), ds...), name, nil)
			if all {
				return recapSessions(a, op, oldest, false)
			}
			return nil
		},
	}
	app.WhenVar(cmd.Flags(), &since, "since", "2h, 7d, 2026-11-20 (default: your last decision or detach)")
	return cmd
}

func recapDocument(a *app.App, ds []*inspect.Recap) any {
	var all []page.Told
	for _, d := range ds {
		all = append(all, page.Told{Doc: view.Recap(d), Spell: a.StepsOf(protocol.TeamName(d.Team)), Now: a.Now()})
	}
	if len(all) == 1 {
		return all[0]
	}
	return map[string]any{"recaps": all}
}
