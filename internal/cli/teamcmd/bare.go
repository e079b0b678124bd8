package teamcmd

import (
	"context"
	"time"

	"waggle/internal/cli/app"
	"waggle/internal/cli/decidecmd"
	"waggle/internal/view"
	"waggle/operator"
	"waggle/operator/inspect"
	"waggle/operator/process"
)

// lately is how long ago a team may have ended to be named.
const lately = 24 * time.Hour

// Bare runs waggle without a command: it shows what waits, what runs, what failed, what has ended
// lately and what is kept, of all teams and sessions. Where there is nothing it suggests commands.
func Bare(ctx context.Context, a *app.App) error {
	op, err := a.Op()
	if err != nil {
		return err
	}
	if a.Flags.Team != "" {
		return statusOf(ctx, a)
	}
	names, err := op.Names()
	if err != nil {
		return err
	}
	if a.Flags.JSON && len(names) > 0 {
		return statusAll(ctx, a)
	}
	rows, _, err := decidecmd.Sessions(a, op)
	if err != nil {
		return err
	}
	if a.Flags.JSON {
		return a.Document(view.TeamsAndSessions{Teams: []view.StatusDocument{}, Sessions: view.Sessions(rows)})
	}
	v, err := overview(ctx, a, op)
	if err != nil {
		return err
	}
	page := view.OverviewPage(v, a.Clock(), app.StepText)
	a.ShowPage(page, "", nil)
	if len(page) > 0 && len(rows) > 0 {
		a.Say("")
	}
	a.ShowPage(view.SessionsPage(rows, a.Now()), "", nil)
	if len(page)+len(rows) == 0 {
		suggest(a)
	}
	return nil
}

// overview reads all teams. One that cannot be read is left out with a note.
func overview(ctx context.Context, a *app.App, op operator.Operator) (v view.Overview, err error) {
	names, err := op.Names()
	if err != nil {
		return v, err
	}
	for _, name := range names {
		st, err := inspect.Of(op).Status(ctx, name)
		if err != nil {
			decidecmd.SaySkipped(a, name, err)
			continue
		}
		v.Teams = append(v.Teams, st)
	}
	v.Waiting = decidecmd.OfTeams(ctx, a, op, names)
	if v.Ended, err = inspect.Of(op).EndedSince(a.Now().Add(-lately)); err != nil {
		return v, err
	}
	c, err := process.Of(op).GC(ctx, "", false)
	if err == nil {
		v.Kept = c.Kept // inside of a member's process it is refused, and nothing is listed
	}
	return v, nil
}

// suggest names the first commands of somebody who has no team.
func suggest(a *app.App) {
	a.Say("There is no team here yet. Try:\n")
	a.Say("  waggle new \"TASK\"      start one agent on one task, on a branch of its own")
	a.Say("  waggle demo            a scripted team shows every flow, in under a minute")
	hooked := decidecmd.Hooked(a)
	for _, c := range hooked {
		a.Say("  %-22s its questions are in waggle pending: the hooks are installed", c)
	}
	if len(hooked) == 0 {
		a.Say("  waggle hooks install   see and answer the questions of your Claude sessions")
	}
	a.Say("  waggle init            write a team file for this directory")
	a.Say("  waggle doctor          what works on this machine")
}
