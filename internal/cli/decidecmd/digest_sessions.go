package decidecmd

import (
	"os"
	"time"

	"waggle/internal/cli/app"
	"waggle/internal/view"
	"waggle/internal/view/page"
	"waggle/operator"
	"waggle/operator/decide"
)

// digestSpan is the default span of a digest of sessions.
const digestSpan = 24 * time.Hour

// onlySessions reports whether a digest is about sessions alone: the argument names them, or there
// is no team here and there are sessions.
func onlySessions(a *app.App, args []string) (bool, error) {
	if len(args) > 0 || a.Flags.Team != "" {
		return len(args) > 0 && args[0] == decide.SessionTeam || a.Flags.Team == decide.SessionTeam, nil
	}
	op, err := a.Op()
	if err != nil {
		return false, err
	}
	names, err := op.Root.Names()
	if err != nil || len(names) > 0 {
		return false, err
	}
	_, store, err := Sessions(a, op)
	return store, err
}

func digestSessions(a *app.App, since time.Time) error {
	op, err := a.Op()
	if err != nil {
		return err
	}
	if since.IsZero() {
		since = a.Now().Add(-digestSpan)
	}
	if a.Flags.JSON {
		es, err := decide.Of(op).SessionAudit(operator.AuditQuery{Since: since})
		if err != nil {
			return err
		}
		return a.Document(view.AuditOfSessions(es, since))
	}
	return sayDigestSessions(a, op, since, true)
}

// sayDigestSessions prints the requests of sessions since a time, and who answered.
func sayDigestSessions(a *app.App, op operator.Operator, since time.Time, alone bool) error {
	es, err := decide.Of(op).SessionAudit(operator.AuditQuery{Since: since})
	if err != nil {
		return err
	}
	if len(es) == 0 {
		if alone {
			a.Say("no session asked anything since %s", page.Clock(since, a.Clock()))
		}
		return nil
	}
	if !alone {
		a.Say("")
	}
	a.ShowPage(view.SessionsDigestPage(es, a.Clock()), "", nil)
	return nil
}

// Sessions lists the sessions of this user, and whether STATE has any session or the hooks are
// installed. It prints the error of a session that cannot be read, and lists the others.
func Sessions(a *app.App, op operator.Operator) (rows []decide.SessionRow, store bool, err error) {
	rows, _, err = decide.Of(op).Sessions()
	if err != nil {
		a.Talk("%s %s", app.Yellow("note:"), operator.VisibleLines(err.Error()))
	}
	seen, err := decide.Of(op).SeenSessions()
	return rows, seen || Hooked(a), err
}

// Hooked reports whether a session that starts here has the hooks.
func Hooked(a *app.App) bool {
	store, err := HookStore(a)
	if err != nil {
		return false
	}
	cwd, err := os.Getwd()
	if err != nil {
		return false
	}
	sources, err := settingsSources(a, cwd)
	if err != nil {
		return false
	}
	_, installed := store.InstalledSince(sources)
	return installed
}
