package cli

import (
	"context"
	"os"

	"waggle/internal/view"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/inspect"
)

// statusAll shows every team here and the sessions of this user.
func (a *App) statusAll(ctx context.Context) error {
	op, err := a.op()
	if err != nil {
		return err
	}
	names, err := op.Root.Names()
	if err != nil {
		return err
	}
	rows, store, err := a.sessions(op)
	if err != nil {
		return err
	}
	if len(names) == 0 && len(rows) == 0 && !store {
		_, err := op.Pick("") // there is nothing here: it says what to do
		return err
	}
	if a.flags.json {
		all := []view.StatusDocument{}
		for _, name := range names {
			st, err := inspect.Of(op).Status(ctx, name)
			if err != nil {
				return err
			}
			all = append(all, view.Status(st))
		}
		if len(all) == 1 {
			return a.document(view.TeamAndSessions{StatusDocument: all[0], Sessions: view.Sessions(rows)})
		}
		return a.document(view.TeamsAndSessions{Teams: all, Sessions: view.Sessions(rows)})
	}
	for i, name := range names {
		if i > 0 {
			a.say("")
		}
		if err := a.status(ctx, op, name); err != nil {
			return err
		}
	}
	if len(names) > 0 && len(rows) > 0 {
		a.say("")
	}
	a.show(view.SessionsPage(rows, a.Now()), "", nil)
	return nil
}

// sessions lists the sessions of this user, and whether any was ever seen here or would
// be: the hooks are installed. What cannot be read of one is said and hides no other.
func (a *App) sessions(op operator.Operator) (rows []decide.SessionRow, store bool, err error) {
	rows, _, err = decide.Of(op).Sessions()
	if err != nil {
		a.talk("%s %s", yellow("note:"), operator.VisibleLines(err.Error()))
	}
	seen, err := decide.Of(op).SeenSessions()
	return rows, seen || a.hooked(), err
}

// hooked reports whether a session that starts here has the hooks.
func (a *App) hooked() bool {
	store, err := a.hookStore()
	if err != nil {
		return false
	}
	cwd, err := os.Getwd()
	if err != nil {
		return false
	}
	sources, err := a.settingsSources(cwd)
	if err != nil {
		return false
	}
	_, installed := store.InstalledSince(sources)
	return installed
}
