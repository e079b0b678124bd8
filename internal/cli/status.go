package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"waggle"
	"waggle/internal/view"
	"waggle/operator"
	"waggle/operator/inspect"
)

func statusCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "status [TEAM]",
		Short: "How a team is: each member's state, since when, and why",
		Long: `How a team is: each member's state, since when, and why. A state is one of starting,
working, waiting-human (you have to answer it), waiting-peer (another member, or the
lead's agent, has to do something first), waiting-background (a command of it runs
silently, or outlived its turn), idle, stalled (its process is stopped or does not
apply what it is ordered), dead (its process is gone) and unknown, with the reason.
waggle why NAME lists what says so. It records nothing and sends nothing: when nobody
leads it shows what is due, and the next command that acts (approve, send, task add) does it.

Without a team it shows every team here and the sessions that you started yourself, as
the client registers them and its hooks report (waggle hooks install): what each waits
for, since when, and in which tmux pane.

--json: {"team","notice","leader":{"led","by","sandbox","pid","detached"},"members":
[{"name","lead","state","since","why","pid","backend","trust","task","pending",
"policy_version","socket","restarts","ready","log","worktree","usage",
"evidence"}],"interrupted",
"pending","unread","unverified","ceiling"}. ready is what its process found itself to
be: {"epoch","agent","model","mode","policy_version","cwd","worktree","backend"}, or
null; usage is {"cpu_s","rss_bytes","processes"} of its process and what runs below
it, or null. Without a team and with one team here, "sessions" is added; with several,
or none, the document is {"teams":[…],"sessions":[{"team","session","client","name",
"under","pid","state","since","why","handles","pane","cwd","version","hook",
"takes_words","trust"}]}. interrupted is {"at","members","pending"} when members died and nobody leads,
else null.`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeTeams,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				a.flags.team = args[0]
			}
			if a.flags.team == "" {
				return a.statusAll(cmd.Context())
			}
			op, name, err := a.team()
			if err != nil {
				return err
			}
			return a.status(cmd.Context(), op, name)
		},
	}
}

func (a *App) status(ctx context.Context, op operator.Operator, name waggle.TeamName) error {
	st, err := inspect.Of(op).Status(ctx, name)
	if err != nil {
		return err
	}
	if a.flags.json {
		return a.document(view.Status(st))
	}
	a.show(view.StatusPage(st, a.Now().Local()), name, func() map[string]string { return memberColors(ctx, op, name) })
	return nil
}

// scope repeats the flags that a next command needs.
func (a *App) scope(name waggle.TeamName) string {
	s := ""
	if a.flags.root != "" {
		s += " --root " + a.flags.root
	}
	if a.flags.state != "" {
		s += " --state " + a.flags.state
	}
	if a.flags.team != "" {
		s += " --team " + string(name)
	}
	return s
}

func (a *App) since(ts string) string {
	t, err := waggle.ParseTime(ts)
	if err != nil {
		return ""
	}
	return operator.Age(a.Now().Sub(t).Truncate(time.Second))
}

// bare is waggle without a command: what to try, or how things are.
func (a *App) bare(ctx context.Context) error {
	op, err := a.op()
	if err != nil {
		return err
	}
	if a.flags.team != "" {
		name, err := op.Pick(a.flags.team)
		if err != nil {
			return err
		}
		return a.status(ctx, op, name)
	}
	names, err := op.Root.Names()
	if err != nil {
		return err
	}
	if len(names) > 1 && !a.flags.json {
		if err := a.teamList(ctx); err != nil {
			return err
		}
		rows, _, _ := a.sessions(op)
		a.show(view.SessionsPage(rows, a.Now()), "", nil)
		return nil
	}
	if len(names) > 0 {
		return a.statusAll(ctx)
	}
	rows, _, err := a.sessions(op)
	if err != nil {
		return err
	}
	if a.flags.json {
		return a.document(view.TeamsAndSessions{Teams: []view.StatusDocument{}, Sessions: view.Sessions(rows)})
	}
	if len(rows) > 0 {
		a.show(view.SessionsPage(rows, a.Now()), "", nil)
		return nil
	}
	a.say("There is no team here yet. Try:\n")
	a.say("  waggle demo            a scripted team shows every flow, in under a minute")
	if a.hooked() {
		a.say("  claude                 its questions are in waggle pending: the hooks are installed")
	} else {
		a.say("  waggle hooks install   see and answer the questions of your own Claude sessions")
	}
	a.say("  waggle init            write a team file for this directory")
	a.say("  waggle doctor          what works on this machine")
	return nil
}
