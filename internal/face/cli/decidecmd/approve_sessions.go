package decidecmd

import (
	"context"
	"time"

	"waggle/control"
	"waggle/internal/face/cli/app"
	"waggle/internal/face/view/policyview"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/protocol"
)

// scopeSessions is the scope of a rule that answers sessions' requests.
const scopeSessions = "sessions"

// decideSessions answers the requests of sessions, and leaves those of a team in ids. done reports
// that there are none left.
func decideSessions(ctx context.Context, a *app.App, ids *[]string, f answerFlags, with decide.Answer) (done bool, err error) {
	if a.Flags.Team != "" {
		return false, nil
	}
	op, err := a.Op()
	if err != nil {
		return false, err
	}
	lesson := with.Lesson
	with.Lesson = nil
	var results []decide.Decided
	if f.group != "" {
		if g, err := decide.Of(op).ShowSessionGroup(f.group); g == nil || err != nil {
			return false, err
		}
		if err := forSessions(lesson, f); err != nil {
			return true, err
		}
		results, err = decide.Of(op).DecideSessionGroup(ctx, f.group, with)
	} else {
		results, err = answerSessions(ctx, a, op, ids, f, lesson, with)
	}
	switch {
	case err != nil:
		return true, err
	case len(results) > 0:
	case f.scope == scopeSessions && lesson != nil:
		return true, &operator.Error{Kind: operator.Usage, Op: with.Via, Msg: "--for sessions goes with a request of a session", Advice: "waggle policy sessions add '" + lesson.Rule.String() + "'"}
	default:
		return false, nil
	}
	doc := policyview.Results(results)
	if lesson != nil {
		var end *time.Time
		if at := lesson.End.UTC(); !lesson.End.IsZero() {
			end = &at
		}
		learned, err := decide.Of(op).AddSessionRule(ctx, lesson.Rule, false, end)
		if err != nil {
			return true, err
		}
		doc.Policy = learned
	}
	if a.Flags.JSON {
		if err := a.Document(doc); err != nil {
			return true, err
		}
	}
	if err := sayDecided(a, results); err != nil {
		return true, err
	}
	if lesson != nil && !a.Flags.JSON {
		return true, a.SaySessionRules(decide.Of(op).SessionRules())
	}
	return true, nil
}

// answerSessions answers ids when they are sessions'. It refuses a mix with a team's before
// anything is decided.
func answerSessions(ctx context.Context, a *app.App, op operator.Operator, ids *[]string, f answerFlags, lesson *decide.Lesson, with decide.Answer) ([]decide.Decided, error) {
	var mine, rest []string
	for _, id := range *ids {
		of, err := ofSession(ctx, a, op, id)
		if err != nil {
			return nil, err
		}
		if of {
			mine = append(mine, id)
		} else {
			rest = append(rest, id)
		}
	}
	if len(mine) > 0 && len(rest) > 0 {
		return nil, &operator.Error{Kind: operator.Usage, Op: with.Via, Msg: "some of these are requests of sessions and some of a team: answer them in two commands", Near: mine}
	}
	if len(mine) > 0 {
		if err := forSessions(lesson, f); err != nil {
			return nil, err
		}
	}
	var results []decide.Decided
	for _, id := range mine {
		one := with
		one.ID = id
		d, err := decide.Of(op).DecideSession(ctx, one, nil)
		if err != nil {
			return results, err
		}
		if d == nil { // its session was removed meanwhile
			return results, &control.UnknownRequestError{ID: protocol.RequestID(id)}
		}
		results = append(results, *d)
	}
	*ids = rest
	return results, nil
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
