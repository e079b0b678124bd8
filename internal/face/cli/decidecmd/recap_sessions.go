package decidecmd

import (
	"os"
	"slices"
	"time"

	"waggle/internal/claude/claudesettings"
	"waggle/internal/face/cli/app"
	"waggle/internal/face/view"
	"waggle/internal/face/view/page"
	"waggle/operator"
	"waggle/operator/decide"
)

// recapSpan is the default span of a recap of sessions.
const recapSpan = 24 * time.Hour

// onlySessions reports whether a recap is about sessions alone: the argument names them, or there
// is no team here and there are sessions.
func onlySessions(a *app.App, op operator.Operator, args []string) (bool, error) {
	if len(args) > 0 || a.Flags.Team != "" {
		return len(args) > 0 && args[0] == decide.SessionTeam || a.Flags.Team == decide.SessionTeam, nil
	}
	names, err := op.Root.Names()
	if err != nil || len(names) > 0 {
		return false, err
	}
	_, _, store, err := Sessions(a, op)
	return store, err
}

// recapSessions shows the requests of sessions since a time, and who answered; alone says that the recap is about nothing
// else.
func recapSessions(a *app.App, op operator.Operator, since time.Time, alone bool) error {
	if alone && since.IsZero() {
		since = a.Now().Add(-recapSpan)
	}
	es, err := decide.Of(op).SessionAudit(operator.AuditQuery{Since: since})
	switch {
	case err != nil:
		return err
	case a.Flags.JSON:
		return a.Document(view.SessionDigest{Events: es, Since: since})
	case len(es) == 0 && alone:
		a.Say("no session asked anything since %s", page.Clock(since, a.Clock()))
	case len(es) > 0:
		if !alone {
			a.Say("")
		}
		a.ShowPage(view.SessionsRecapPage(es, a.Clock()), "", nil)
	}
	return nil
}

// Sessions lists the sessions of this user with what they ask, and whether STATE has any session or the hooks are
// installed. It prints the error of a session that cannot be read, and lists the others.
func Sessions(a *app.App, op operator.Operator) (rows []decide.SessionRow, open []decide.Request, store bool, err error) {
	rows, open, err = decide.Of(op).Sessions()
	if err != nil {
		a.Talk("%s %s", app.Yellow("note:"), operator.VisibleLines(err.Error()))
	}
	seen, err := decide.Of(op).SeenSessions()
	return rows, open, seen || len(Hooked(a)) > 0, err
}

// Hooked are the clients whose sessions that start here have the hooks. Of what cannot be read doctor reports.
func Hooked(a *app.App) (hooked []claudesettings.Client) {
	cwd, err := os.Getwd()
	if err != nil {
		return nil
	}
	for _, c := range claudesettings.Clients {
		store, serr := HookStore(a, c)
		dir, derr := clientPath(a, c)
		if serr != nil || derr != nil {
			continue
		}
		if slices.ContainsFunc(c.Files(dir, cwd), func(path string) bool {
			l, err := store.Look(path)
			return err == nil && l.Installed
		}) {
			hooked = append(hooked, c)
		}
	}
	return hooked
}
