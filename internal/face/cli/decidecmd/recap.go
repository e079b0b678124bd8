package decidecmd

import (
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"waggle/internal/claude/claudesettings"
	"waggle/internal/face/cli/app"
	"waggle/internal/face/view"
	"waggle/internal/face/view/page"
	"waggle/operator"
	"waggle/operator/decide"
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

// recapSpan is the default span of a recap of sessions.
const recapSpan = 24 * time.Hour

// onlySessions reports whether a recap is about sessions alone: the argument names them, or there
// is no team here and there are sessions.
func onlySessions(a *app.App, op operator.Operator, args []string) (bool, error) {
	if len(args) > 0 || a.Flags.Team != "" {
		return len(args) > 0 && args[0] == decide.SessionTeam || a.Flags.Team == decide.SessionTeam, nil
	}
	names, err := op.Root.Names()
	if err != nil || len(names) > 0 {
		return false, err
	}
	_, _, store, err := Sessions(a, op)
	return store, err
}

// recapSessions shows the requests of sessions since a time, and who answered; alone says that the recap is about nothing
// else.
func recapSessions(a *app.App, op operator.Operator, since time.Time, alone bool) error {
	if alone && since.IsZero() {
		since = a.Now().Add(-recapSpan)
	}
	es, err := decide.Of(op).SessionAudit(operator.AuditQuery{Since: since})
	switch {
	case err != nil:
		return err
	case a.Flags.JSON:
		return a.Document(view.SessionDigest{Events: es, Since: since})
	case len(es) == 0 && alone:
		a.Say("no session asked anything since %s", page.Clock(since, a.Clock()))
	case len(es) > 0:
		if !alone {
			a.Say("")
		}
		a.ShowPage(view.SessionsRecapPage(es, a.Clock()), "", nil)
	}
	return nil
}

// Sessions lists the sessions of this user with what they ask, and whether STATE has any session or the hooks are
// installed. It prints the error of a session that cannot be read, and lists the others.
func Sessions(a *app.App, op operator.Operator) (rows []decide.SessionRow, open []decide.Request, store bool, err error) {
	rows, open, err = decide.Of(op).Sessions()
	if err != nil {
		a.Talk("%s %s", app.Yellow("note:"), operator.VisibleLines(err.Error()))
	}
	seen, err := decide.Of(op).SeenSessions()
	return rows, open, seen || len(Hooked(a)) > 0, err
}

// Hooked are the clients whose sessions that start here have the hooks. Of what cannot be read doctor reports.
func Hooked(a *app.App) (hooked []claudesettings.Client) {
	cwd, err := os.Getwd()
	if err != nil {
		return nil
	}
	for _, c := range claudesettings.Clients {
		store, serr := HookStore(a, c)
		dir, derr := clientPath(a, c)
		if serr != nil || derr != nil {
			continue
		}
		if slices.ContainsFunc(c.Files(dir, cwd), func(path string) bool {
			l, err := store.Look(path)
			return err == nil && l.Installed
		}) {
			hooked = append(hooked, c)
		}
	}
	return hooked
}
