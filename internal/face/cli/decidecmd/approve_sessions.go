package decidecmd

import (
	"context"

	"waggle/internal/face/cli/app"
	"waggle/operator"
	"waggle/operator/decide"
)

// scopeSessions is the scope of a rule that answers sessions' requests.
const scopeSessions = "sessions"

// ofSessions reports whether requests or a group are sessions'. A mix with a team's is refused before anything is decided.
func ofSessions(ctx context.Context, a *app.App, op operator.Operator, via string, ids []string, group string) (bool, error) {
	if group != "" && a.Flags.Team == "" {
		g, err := decide.Of(op).ShowSessionGroup(group)
		return g != nil, err
	}
	var mine []string
	for _, id := range ids {
		of, err := ofSession(ctx, a, op, id)
		if err != nil {
			return false, err
		}
		if of {
			mine = append(mine, id)
		}
	}
	if len(mine) > 0 && len(mine) < len(ids) {
		return false, &operator.Error{Kind: operator.Usage, Op: via, Msg: "some of these are requests of sessions and some of a team: answer them in two commands", Near: mine}
	}
	return len(mine) > 0, nil
}

// forSessions refuses a rule for a team or one of its members.
func forSessions(l *decide.Lesson, f answerFlags) error {
	switch {
	case l == nil, f.scope == scopeSessions && !l.Task:
		return nil
	case l.Task:
		return &operator.Error{Kind: operator.Usage, Op: "approve", Msg: "a session has no task of waggle", Advice: "--until today, 8h, always"}
	}
	return &operator.Error{Kind: operator.Usage, Op: "approve", Msg: "a session is in no team of waggle, so the rule has no member to be for", Advice: "--for sessions makes it a rule for sessions"}
}
