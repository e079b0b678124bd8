package teamcmd

import (
	"context"
	"strings"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/cli/decidecmd"
	"waggle/internal/face/view"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/draft"
	"waggle/operator/inspect"
	"waggle/operator/process"
	"waggle/operator/results"
	"waggle/protocol"
)

// Bare runs waggle without a command: it shows what waits, what failed, what runs, what is ready, what has ended
// lately and what is kept, of all teams and sessions. Where there is nothing it suggests commands.
func Bare(ctx context.Context, a *app.App) error {
	op, err := a.Op()
	if err != nil {
		return err
	}
	if a.Flags.Team != "" {
		return statusOf(ctx, a, false)
	}
	names, err := op.Names()
	if err != nil {
		return err
	}
	if a.Flags.JSON && len(names) > 0 {
		return statusAll(ctx, a, false)
	}
	if a.Flags.JSON {
		rows, _, _, err := decidecmd.Sessions(a, op)
		if err != nil {
			return err
		}
		return a.Document(view.TeamsAndSessions{Teams: []view.StatusDocument{}, Sessions: rows})
	}
	v, err := overview(ctx, a, op, names)
	if err != nil {
		return err
	}
	page := view.OverviewPage(v, a.Clock(), app.Height(a.Out))
	if a.ShowPage(page, "", nil); len(page) == 0 {
		suggest(a)
	}
	return nil
}

// overview reads all teams. One that cannot be read is left out with a note.
func overview(ctx context.Context, a *app.App, op operator.Operator, names []protocol.TeamName) (v view.Overview, err error) {
	for _, name := range names {
		st, err := inspect.Of(op).Status(ctx, name)
		if err != nil {
			decidecmd.SaySkipped(a, name, err)
			continue
		}
		v.Teams = append(v.Teams, st)
	}
	rows, open, err := decide.Of(op).Sessions()
	if err != nil {
		a.Talk("%s %s", app.Yellow("note:"), operator.VisibleLines(err.Error()))
	}
	waiting, _ := decidecmd.OfTeams(ctx, a, op, names, false, true) // what cannot be read is noted
	v.Sessions, v.Waiting = rows, append(waiting, open...)
	decide.SortRequests(v.Waiting)
	v.Changes, v.Today = changes(ctx, op, v.Teams), inspect.Of(op).Today(a.Clock())
	if v.Ended, err = inspect.Of(op).EndedSince(a.Now().Add(-inspect.Lately)); err != nil {
		return v, err
	}
	c, err := process.Of(op).GC(ctx, "", false)
	if err == nil {
		v.Kept = c.Kept // inside of a member's process it is refused, and nothing is listed
	}
	return v, nil
}

// changes are what members without work have changed. What cannot be read is left out: waggle diff says why.
func changes(ctx context.Context, op operator.Operator, sts []*inspect.Status) map[view.MemberOf]*results.Diff {
	all := map[view.MemberOf]*results.Diff{}
	for _, st := range sts {
		for _, m := range st.Members {
			if !m.Free() || m.Worktree == nil {
				continue
			}
			if d, err := results.Of(op).Diff(ctx, st.Team, m.Name, results.DiffOptions{}); err == nil {
				all[view.MemberOf{Team: st.Team, Member: m.Name}] = d
			}
		}
	}
	return all
}

// suggest names the first commands of somebody who has no team.
func suggest(a *app.App) {
	a.Say("There is no team here yet. Try:\n")
	a.Say("  waggle new \"TASK\"      start one agent on one task, on a branch of its own")
	for _, f := range FirstOf(a) {
		a.Say("  %-22s %s", f.What, f.Does)
	}
}

// First is a command that somebody without a team begins with, or a fact about this machine, and what it is for.
type First struct{ What, Does string }

// FirstOf returns what somebody without a team can do beside starting an agent on a task: which agents are installed,
// and the first commands.
func FirstOf(a *app.App) (all []First) {
	for _, name := range draft.Installed(a.Environ) {
		all = append(all, First{name, "installed"})
	}
	if len(all) == 0 {
		all = append(all, First{"no coding agent", "none of " + strings.Join(draft.KnownAgents, ", ") + " is installed"},
			First{"waggle new exec CMD", "a shell command in an agent's place"})
	}
	all = append(all, First{"waggle demo", "a scripted team shows every flow, in under a minute"})
	hooked := decidecmd.Hooked(a)
	for _, c := range hooked {
		all = append(all, First{string(c), "its questions are in waggle pending: the hooks are installed"})
	}
	if len(hooked) == 0 {
		all = append(all, First{"waggle hooks install", "see and answer the questions of your Claude sessions"})
	}
	return append(all, First{"waggle init", "write a team file for this directory"}, First{"waggle doctor", "what works on this machine"})
}
