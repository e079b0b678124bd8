package cli

import (
	"strings"
	"time"

	"waggle"
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
		return a.document(map[string]any{"since": waggle.FormatTime(since), "events": es})
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
	a.say("%s  %s", bold("Sessions"), faint("waggle audit query -"))
	var rows [][]string
	for _, e := range es {
		word := e.Decision
		switch {
		case e.By == "session":
			word = "answered in its own dialog"
		case word == "" && e.Said != "":
			word = e.Said
		case word == "":
			word = "waits for you"
		default:
			word += " by " + e.By
		}
		rows = append(rows, []string{a.moment(e.Asked), e.Member, word, askedFor(e)})
	}
	for _, l := range tableLines(make([]string, 4), rows, width(a.Out), nil)[1:] {
		a.say("  %s", strings.TrimRight(l, " "))
	}
	return nil
}
