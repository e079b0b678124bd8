package teamcmd

import (
	"context"

	"waggle/internal/cli/app"
	"waggle/internal/cli/decidecmd"
	"waggle/internal/view"
	"waggle/operator/inspect"
)

// statusAll shows every team here and the sessions of this user.
func statusAll(ctx context.Context, a *app.App) error {
	op, err := a.Op()
	if err != nil {
		return err
	}
	names, err := op.Root.Names()
	if err != nil {
		return err
	}
	rows, store, err := decidecmd.Sessions(a, op)
	if err != nil {
		return err
	}
	if len(names) == 0 && len(rows) == 0 && !store {
		_, err := op.Pick("") // there is no team: the error has the next step
		return err
	}
	if a.Flags.JSON {
		all := []view.StatusDocument{}
		for _, name := range names {
			st, err := inspect.Of(op).Status(ctx, name)
			if err != nil {
				return err
			}
			all = append(all, view.Status(st))
		}
		if len(all) == 1 {
			return a.Document(view.TeamAndSessions{StatusDocument: all[0], Sessions: view.Sessions(rows)})
		}
		return a.Document(view.TeamsAndSessions{Teams: all, Sessions: view.Sessions(rows)})
	}
	for i, name := range names {
		if i > 0 {
			a.Say("")
		}
		if err := status(ctx, a, op, name); err != nil {
			return err
		}
	}
	if len(names) > 0 && len(rows) > 0 {
		a.Say("")
	}
	a.ShowPage(view.SessionsPage(rows, a.Now()), "", nil)
	return nil
}
