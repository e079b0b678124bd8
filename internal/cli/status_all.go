package cli

import (
	"context"
	"os"
	"strings"

	"waggle/internal/view"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/inspect"
)

// teamAndSessions is the document of one team beside the sessions.
type teamAndSessions struct {
	view.StatusDocument
	Sessions []decide.SessionRow `json:"sessions"`
}

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
			return a.document(teamAndSessions{all[0], rows})
		}
		return a.document(map[string]any{"teams": all, "sessions": rows})
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
	a.sessionTable(rows)
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

// sessionTable shows sessions, a teammate below the session that it runs in.
func (a *App) sessionTable(rows []decide.SessionRow) {
	if len(rows) == 0 {
		return
	}
	a.say("%s  %s", bold("sessions"), faint("started by you; waggle answers their questions and gates nothing"))
	var cells [][]string
	for _, r := range rows {
		name, why := r.Name, r.Why
		if r.Under != "" {
			name = "  " + name
		}
		if !r.Hook && r.Under == "" {
			why = strings.TrimSpace(why + " (no hook: its questions are not seen)")
		}
		cells = append(cells, []string{strings.Join(r.Handles, " "), name, r.State, a.since(r.Since), r.Pane, r.Cwd, why})
	}
	a.list([]string{"ID", "SESSION", "STATE", "SINCE", "PANE", "CWD", "WHY"}, cells)
}
