package teamcmd

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/view"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/operator/process"
	"waggle/protocol"
)

const stopCodes = `
Exit code: 0 it agreed, or was not asked (--force); 6 it refused, and was ended or, when
another program runs it, is still a member; 4 it did not answer in time, and was ended or
let go; 5 it was dead already; 1 it could not be ended. With --all: 0 every
member has stopped; 4 one had to be ended for it; 6 one goes on, or with --sessions a
session; 1 a team could not be stopped.

--json: {"member","how","step","rejected","forced","answered","worktree"}; with --all
{"teams":[{"team","at","again","theirs","members":[{"member","how","task","calls","asked",
"why"}],"error"}],"sessions":[{"session","name","client","pid","how","asked","why"}]}.`

func Stop(a *app.App) *cobra.Command {
	var so process.StopOptions
	var all, sessions bool
	var reason string
	cmd := &cobra.Command{
		Use:   "stop NAME | --all",
		Short: "End one member, or stop all work at once",
		Long: `End one member. The command asks it to end, and asks again when it refuses. After the
grace it closes the member's input, sends its processes SIGTERM, then SIGKILL, and
verifies their end. That takes at most ten seconds more. With --force it does not ask.

A member that another program runs is asked once, by a message, and is not signalled. Its
yes ends its membership at once; its no keeps it a member; without an answer it is let go
after the grace. So is an entry that another program wrote into config.json.

--all ends nobody: it stops all work of every team (with --team, of one) at once, and says
what was cut. Calls that run are interrupted, open requests are closed, and nothing begins
until waggle resume TEAM. The members, their tasks, messages and conversations stay, and
what was cut goes on then. Only a member that has not stopped within the grace is ended.

--all --sessions also stops your own sessions that have waggle's hooks: what they ask is
denied, and their calls are refused, until you type there.
` + stopCodes,
		RunE: func(cmd *cobra.Command, args []string) error {
			if all != (len(args) == 0) {
				return &operator.Error{Kind: operator.Usage, Op: "stop", Msg: "name a member, or say --all"}
			}
			if !all && (sessions || cmd.Flags().Changed("message")) {
				return &operator.Error{Kind: operator.Usage, Op: "stop", Msg: "--sessions and --message are for --all"}
			}
			if all {
				return stopAll(cmd.Context(), a, process.HaltOptions{Grace: so.Grace, Reason: reason, Note: a.SayNote}, sessions)
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
			if err := a.Give(end, view.MemberEndPage(*end)); err != nil {
				return err
			}
			return exitOf(end.Kind())
		},
	}
	a.GraceFlag(cmd, &so.Grace, "time for it to end by itself")
	cmd.Flags().BoolVar(&so.Force, "force", false, "do not ask")
	cmd.Flags().BoolVar(&all, "all", false, "stop all work of every team, and end nobody")
	cmd.Flags().BoolVar(&sessions, "sessions", false, "with --all: also sessions of yours that waggle does not run, by their hooks")
	cmd.Flags().StringVarP(&reason, "message", "m", "", "with --all: why, for the log and the members' status")
	cmd.MarkFlagsMutuallyExclusive("all", "force")
	return cmd
}

func Down(a *app.App) *cobra.Command {
	var so process.StopOptions
	var plan bool
	var report string
	cmd := &cobra.Command{
		Use:   "down [TEAM]",
		Short: "End a team: ask each member, then signal those that do not end",
		Long: `End a team. The command asks every member to end; those that run after the grace get
SIGTERM, then SIGKILL. A process that leads the team does this when there is one. The
team's files are archived, and the command shows a report.
` + reportHelp + `

Exit code: 0 every member agreed, and no required task is left; 6 one refused, and was
ended or, when another program runs it, let go; 4 one did not answer in time, and was
ended or let go; else as of a run that left the same tasks undone: 5 the owner of one
died, 10 its budget was used up, 3 nobody answered its question, 6 it was denied a call,
1 it failed, 7 it is open.

--json: {"team","state","members":[{"member","how","step","rejected","forced","answered",
"worktree"}],"archive","worktrees"}; with --plan {"team","led","running":[{"name",
"pid"}]}.`,
		RunE: a.TeamArg(app.InTeam(a.Team, func(ctx context.Context, op operator.Operator, name protocol.TeamName, _ []string) error {
			if plan {
				return planEnd(ctx, a, op, name)
			}
			so.Note = a.SayNote
			d, err := process.Of(op).Down(ctx, name, so)
			if err != nil {
				return err
			}
			switch err := a.Give(d, view.EndedPage(d)); {
			case err != nil:
				return err
			case d.Archive == "":
				return exitOf(d.Kind())
			}
			return sayEnd(ctx, a, op, name, d.Kind(), d.Broken, report)
		})),
	}
	a.GraceFlag(cmd, &so.Grace, "time for members to end by themselves")
	cmd.Flags().BoolVar(&so.Force, "force", false, "do not ask")
	app.PlanFlag(cmd, &plan, "show what would be ended, and end nothing")
	reportFlag(cmd, &report)
	return cmd
}

// planEnd shows what the end of a team would end.
func planEnd(ctx context.Context, a *app.App, op operator.Operator, name protocol.TeamName) error {
	tv, err := inspect.Of(op).Team(ctx, name)
	if err != nil {
		return err
	}
	return a.Give(tv, view.EndPlanPage(tv))
}

// stopAll stops all work of the team that --team names, or of every team here, and with sessions of the user's own
// sessions. A team that cannot be stopped does not keep the others going.
func stopAll(ctx context.Context, a *app.App, ho process.HaltOptions, sessions bool) error {
	op, err := a.Op()
	if err != nil {
		return err
	}
	names, err := a.NamedOrAll(op)
	if err != nil {
		return err
	}
	halted, errs := make([]*process.Halted, len(names)), make([]error, len(names))
	var all sync.WaitGroup
	for i, name := range names { // side by side: none waits for the grace of another
		all.Go(func() { halted[i], errs[i] = process.Of(op).Halt(ctx, name, ho) })
	}
	var doc view.HaltsDocument
	failed := make([]error, 1)
	if a.Flags.Team == "" || sessions {
		doc.Sessions, failed[0] = decide.Of(op).HaltSessions(ctx, ho.Reason, sessions)
	}
	all.Wait()
	if len(names) == 0 && len(doc.Sessions) == 0 && failed[0] == nil {
		a.Talk("nothing works: there is no team and no session here")
	}
	kind := operator.None
	for i, t := range halted {
		if err := errs[i]; err != nil {
			failed = append(failed, fmt.Errorf("team %s is not stopped: %w", names[i], err))
		}
		switch {
		case t == nil:
			doc.Teams = append(doc.Teams, view.HaltedDocument{Halted: &process.Halted{Team: string(names[i])}, Error: errs[i].Error()})
			continue
		case a.Flags.JSON:
			doc.Teams = append(doc.Teams, view.HaltedDocument{Halted: t})
		default:
			a.ShowPage(view.HaltedPage(t), "", nil)
		}
		if k := t.Kind(); k == operator.Refused || kind == operator.None {
			kind = k
		}
	}
	for _, s := range doc.Sessions {
		if sessions && s.How == decide.SessionRuns { // else it does not count that one goes on
			kind = operator.Refused
		}
	}
	failed = append(failed, a.Give(doc, view.HaltedSessionsPage(doc.Sessions, sessions)))
	if err := errors.Join(failed...); err != nil {
		return err
	}
	return exitOf(kind)
}
