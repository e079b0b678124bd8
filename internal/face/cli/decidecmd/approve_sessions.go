package decidecmd

import (
	"waggle/operator"
	"waggle/operator/decide"
)

// scopeSessions is the scope of a rule that answers sessions' requests.
const scopeSessions = "sessions"

// forSessions refuses a rule for a team or one of its members.
func forSessions(l *decide.Lesson, scope string) error {
	switch {
	case l == nil, scope == scopeSessions && !l.Task:
		return nil
	case l.Task:
		return &operator.Error{Kind: operator.Usage, Op: "approve", Msg: "a session has no task of waggle", Advice: "--until today, 8h, always"}
	}
	return &operator.Error{Kind: operator.Usage, Op: "approve", Msg: "a session is in no team of waggle, so the rule has no member to be for", Advice: "--for sessions makes it a rule for sessions"}
}
