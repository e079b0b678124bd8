package teamcmd

import (
	"context"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/cli/decidecmd"
	"waggle/internal/face/view"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/protocol"
	"waggle/record"
)

func Status(a *app.App) *cobra.Command {
	var whole, line bool
	cmd := &cobra.Command{
		Use:   "status [TEAM]",
		Short: "Show each member's state, its age, and the reason",
		Long: `Show how each member is, since when, and why:

  needs you           you have to answer it, or to raise its budget
  failed              its task failed, or its process is gone or stopped
  blocked by ann/3    its task waits for a task that failed
  blocked: setup      its worktree could not be prepared
  unknown             the evidence cannot be read, or there is none
  working             it goes on by itself
  waits for ann       another member, or the lead's agent, has to do something first
  rate-limited until  its agent's usage limit; it goes on then
  queued              enough members work at once
  ready               it has done what it was given
  asleep              it has had no work

Members come in this order, as on the page (waggle --plain) and the full screen; one whose
work could not be merged needs you. -v adds in () the state from which that follows (such
as dead, stalled, paused), processes, worktrees, and what each has used. waggle why NAME
lists the evidence. The command records and sends nothing: without a leader it shows what
is due, and the next command that acts (approve, send, task add) does it.

Its end is what the agents of all teams of this machine have used since midnight, as far
as leaders have recorded it, when that is anything.

Without a team it shows every team here and the sessions that you started yourself, as
the client registers them and its hooks report (waggle hooks install): their open
requests, their age, and their tmux panes.

--line counts over all of them: ?2 are open requests, and idle members whose last merge
was refused; >5 are members that work; x1 are dead members and tasks that failed. With
--json {"waiting","working","failed"}.

--json: {"team","notice","leader":{"led","by","sandbox","pid","detached","slept_s",
"slept_until"},"members":[{"name","lead","state","condition","since","why","pid",
"backend","trust","sandbox","task","pending","policy_version","socket","restarts",
"ready","log","worktree","usage","evidence"}],"interrupted","pending","unread",
"unverified","ceiling","today"}. slept_s: the machine was suspended within the last hour.
sandbox is enforced, files only, off, or unknown before its process has found out,
with " (shell only)" where the agent's program runs outside; the leader's is that of the
least confined member. ready is the report of its process:
{"epoch","agent","model","mode","policy_version","cwd","worktree","backend","sandbox"},
or null, and its sandbox is {"level","why","fix","gaps","shell","outside"};
usage is {"cpu_s","rss_bytes","processes"} of its process and the processes below, or
null. Without a team and with one team here, "sessions" is added; with several, or none,
the document is {"teams":[…],"today","sessions":[{"team","session","client","name",
"under","pid","state","since","why","handles","pane","cwd","version","hook",
"takes_words","trust"}]}.
interrupted is {"at","members","pending"} when members died and no process leads, else
null; today is {"input_tokens","output_tokens","cache_read_tokens","cache_write_tokens",
"cost_usd_micros","turns","source"}, and is missing when nothing was used.

TEAM may have ended: then the command shows when and how it ended, how its members left,
its tasks, and which worktrees and branches are kept. --json: {"team","state","id",
"opened","ended_at","how","members":[{"name","state","how","detail","at"}],"tasks":[{"id",
"subject","owner","state","note"}],"worktrees","pending","dir"}; state is ended.`,
		RunE: a.TeamArg(func(cmd *cobra.Command, _ []string) error {
			if line {
				return statusLine(cmd.Context(), a)
			}
			if a.Flags.Team == "" {
				return statusAll(cmd.Context(), a, whole)
			}
			return statusOf(cmd.Context(), a, whole)
		}),
	}
	cmd.Flags().BoolVarP(&whole, "verbose", "v", false, "processes, worktrees and usage of each member too")
	cmd.Flags().BoolVar(&line, "line", false, "one short line for a status bar: ?2 waiting >5 working x1 failed; empty when all is quiet")
	return cmd
}

// statusOf shows the team of --team, also one that has ended; whole as in view.StatusPage.
func statusOf(ctx context.Context, a *app.App, whole bool) error {
	op, name, err := a.TeamOrEnded(ctx)
	if err != nil {
		return err
	}
	if op.Reads != nil {
		return statusEnded(ctx, a, op, name)
	}
	return status(ctx, a, op, name, whole)
}

func status(ctx context.Context, a *app.App, op operator.Operator, name protocol.TeamName, whole bool) error {
	st, err := inspect.Of(op).Status(ctx, name)
	if err != nil {
		return err
	}
	today := inspect.Of(op).Today(a.Clock())
	d := view.Status(st)
	d.Today = view.Today(today)
	return a.Give(d, nil, func() {
		showStatus(ctx, a, op, whole, st)
		a.ShowPage(view.TodayPage(today), "", nil)
	})
}

// statusEnded shows how a team ended.
func statusEnded(ctx context.Context, a *app.App, op operator.Operator, name protocol.TeamName) error {
	st, err := inspect.Of(op).EndedStatus(ctx, name)
	if err != nil {
		return err
	}
	return a.Give(st, view.EndedStatusPage(st, a.Clock()))
}

// Ended shows the status of the team of --team when it has ended. ok is false when it has not, or there is no
// such team.
func Ended(ctx context.Context, a *app.App) (ok bool, err error) {
	if a.Flags.Team == "" {
		return false, nil
	}
	op, name, err := a.TeamOrEnded(ctx)
	if err != nil || op.Reads == nil {
		return false, nil
	}
	return true, statusEnded(ctx, a, op, name)
}

func showStatus(ctx context.Context, a *app.App, op operator.Operator, whole bool, sts ...*inspect.Status) {
	name := protocol.TeamName("")
	if len(sts) == 1 {
		name = protocol.TeamName(sts[0].Team)
	}
	a.ShowPage(view.StatusPage(a.Clock(), whole, sts...), name, func() map[string]string { return memberColors(ctx, op, name) })
}

// statusAll shows every team here and the sessions of this user.
func statusAll(ctx context.Context, a *app.App, whole bool) error {
	op, err := a.Op()
	if err != nil {
		return err
	}
	names, err := op.Root.Names()
	if err != nil {
		return err
	}
	rows, _, store, err := decidecmd.Sessions(a, op)
	if err != nil {
		return err
	}
	if len(names) == 0 && len(rows) == 0 && !store {
		_, err := op.Pick("") // there is no team: the error has the next step
		return err
	}
	var sts []*inspect.Status
	for _, name := range names {
		st, err := inspect.Of(op).Status(ctx, name)
		if err != nil {
			return err
		}
		sts = append(sts, st)
	}
	today := inspect.Of(op).Today(a.Clock())
	return a.Give(statusDocument(sts, rows, view.Today(today)), nil, func() {
		if len(sts) > 0 {
			showStatus(ctx, a, op, whole, sts...)
		}
		if len(sts) > 0 && len(rows) > 0 {
			a.Say("")
		}
		a.ShowPage(append(view.SessionsPage(rows, a.Now()), view.TodayPage(today)...), "", nil)
	})
}

// statusDocument is the document of the teams here, of the sessions, and of what was used today.
func statusDocument(sts []*inspect.Status, rows []decide.SessionRow, today *record.Usage) any {
	if len(sts) == 1 {
		d := view.TeamAndSessions{StatusDocument: view.Status(sts[0]), Sessions: rows}
		d.Today = today
		return d
	}
	all := []view.StatusDocument{}
	for _, st := range sts {
		all = append(all, view.Status(st))
	}
	return view.TeamsAndSessions{Teams: all, Sessions: rows, Today: today}
}

// statusLine prints the numbers of all teams, or of that of --team. A status bar gets no error: what
// cannot be read is left out.
func statusLine(ctx context.Context, a *app.App) error {
	op, err := a.Op()
	if err != nil {
		return err
	}
	name := protocol.TeamName("")
	if a.Flags.Team != "" {
		if op, name, err = a.TeamOrEnded(ctx); err != nil {
			return err
		}
	}
	g, err := inspect.Of(op).Glance(ctx, name)
	if a.Flags.JSON {
		if err != nil {
			return err
		}
		return a.Document(g)
	}
	if text := view.GlanceLine(g); text != "" {
		a.Say("%s", text)
	}
	return nil
}
