package cli

import (
	"time"

	"waggle/internal/view"
	"waggle/operator"
	"waggle/operator/decide"
)

// digestSpan is how far a digest of sessions goes back when nobody says it.
const digestSpan = 24 * time.Hour

// onlySessions reports whether a digest is about sessions alone: their team is named,
// or there is no team here and there are sessions.
func (a *App) onlySessions(args []string) (bool, error) {
	if len(args) > 0 || a.flags.team != "" {
		return len(args) > 0 && args[0] == decide.SessionTeam || a.flags.team == decide.SessionTeam, nil
	}
	op, err := a.op()
	if err != nil {
		return false, err
	}
	names, err := op.Root.Names()
	if err != nil || len(names) > 0 {
		return false, err
	}
	_, store, err := a.sessions(op)
	return store, err
}

func (a *App) digestSessions(since time.Time) error {
	op, err := a.op()
	if err != nil {
		return err
	}
	if since.IsZero() {
		since = a.Now().Add(-digestSpan)
	}
	if a.flags.json {
		es, err := decide.Of(op).SessionAudit(operator.AuditQuery{Since: since})
		if err != nil {
			return err
		}
		return a.document(view.AuditOfSessions(es, since))
	}
	return a.sayDigestSessions(op, since, true)
}

// sayDigestSessions says what sessions asked since a time, and who answered.
func (a *App) sayDigestSessions(op operator.Operator, since time.Time, alone bool) error {
	es, err := decide.Of(op).SessionAudit(operator.AuditQuery{Since: since})
	if err != nil {
		return err
	}
	if len(es) == 0 {
		if alone {
			a.say("no session asked anything since %s", view.Clock(since, a.Now().Local()))
		}
		return nil
	}
	if !alone {
		a.say("")
	}
	a.show(view.SessionsDigestPage(es, a.Now().Local()), "", nil)
	return nil
}
