package teamcmd

import (
	"context"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/cli/decidecmd"
	"waggle/internal/face/view"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/record"
)

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
