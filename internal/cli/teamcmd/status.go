package teamcmd

import (
	"context"

	"github.com/spf13/cobra"

	"waggle"
	"waggle/internal/cli/app"
	"waggle/internal/cli/decidecmd"
	"waggle/internal/view"
	"waggle/operator"
	"waggle/operator/inspect"
)

func Status(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "status [TEAM]",
		Short: "Show each member's state, its age, and the reason",
		Long: `Show each member's state, its age, and the reason. A state is one of starting,
working, waiting-human (you have to answer it), waiting-peer (another member, or the
lead's agent, has to do something first), waiting-background (a command of it runs
silently, or outlived its turn), idle, stalled (its process is stopped or does not
apply what it is ordered), dead (its process is gone) and unknown, with the reason.
waggle why NAME lists the evidence. The command records and sends nothing: without a
leader it shows what is due, and the next command that acts (approve, send, task add)
does it.

Without a team it shows every team here and the sessions that you started yourself, as
the client registers them and its hooks report (waggle hooks install): their open
requests, their age, and their tmux panes.

--json: {"team","notice","leader":{"led","by","sandbox","pid","detached"},"members":
[{"name","lead","state","since","why","pid","backend","trust","task","pending",
"policy_version","socket","restarts","ready","log","worktree","usage",
"evidence"}],"interrupted",
"pending","unread","unverified","ceiling"}. ready is the report of its
process: {"epoch","agent","model","mode","policy_version","cwd","worktree","backend"}, or null; usage is {"cpu_s","rss_bytes","processes"} of its process and the processes
below, or null. Without a team and with one team here, "sessions" is added; with several,
or none, the document is {"teams":[…],"sessions":[{"team","session","client","name",
"under","pid","state","since","why","handles","pane","cwd","version","hook",
"takes_words","trust"}]}. interrupted is {"at","members","pending"} when members died and no process
leads, else null.`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.CompleteTeams,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				a.Flags.Team = args[0]
			}
			if a.Flags.Team == "" {
				return statusAll(cmd.Context(), a)
			}
			op, name, err := a.Team()
			if err != nil {
				return err
			}
			return status(cmd.Context(), a, op, name)
		},
	}
}

func status(ctx context.Context, a *app.App, op operator.Operator, name waggle.TeamName) error {
	st, err := inspect.Of(op).Status(ctx, name)
	if err != nil {
		return err
	}
	if a.Flags.JSON {
		return a.Document(view.Status(st))
	}
	a.ShowPage(view.StatusPage(st, a.Now().Local()), name, func() map[string]string { return memberColors(ctx, op, name) })
	return nil
}

// Bare runs waggle without a command: it suggests commands, or shows the status.
func Bare(ctx context.Context, a *app.App) error {
	op, err := a.Op()
	if err != nil {
		return err
	}
	if a.Flags.Team != "" {
		name, err := op.Pick(a.Flags.Team)
		if err != nil {
			return err
		}
		return status(ctx, a, op, name)
	}
	names, err := op.Root.Names()
	if err != nil {
		return err
	}
	if len(names) > 1 && !a.Flags.JSON {
		if err := teamList(ctx, a); err != nil {
			return err
		}
		rows, _, _ := decidecmd.Sessions(a, op)
		a.ShowPage(view.SessionsPage(rows, a.Now()), "", nil)
		return nil
	}
	if len(names) > 0 {
		return statusAll(ctx, a)
	}
	rows, _, err := decidecmd.Sessions(a, op)
	if err != nil {
		return err
	}
	if a.Flags.JSON {
		return a.Document(view.TeamsAndSessions{Teams: []view.StatusDocument{}, Sessions: view.Sessions(rows)})
	}
	if len(rows) > 0 {
		a.ShowPage(view.SessionsPage(rows, a.Now()), "", nil)
		return nil
	}
	a.Say("There is no team here yet. Try:\n")
	a.Say("  waggle demo            a scripted team shows every flow, in under a minute")
	if decidecmd.Hooked(a) {
		a.Say("  claude                 its questions are in waggle pending: the hooks are installed")
	} else {
		a.Say("  waggle hooks install   see and answer the questions of your own Claude sessions")
	}
	a.Say("  waggle init            write a team file for this directory")
	a.Say("  waggle doctor          what works on this machine")
	return nil
}
