package decidecmd

import (
	"context"
	"errors"
	"fmt"

	"waggle"
	"waggle/control"
	"waggle/internal/cli/app"
	"waggle/internal/view"
	"waggle/operator"
	"waggle/operator/decide"
)

// waiting returns the requests that a command is about: those of the team that --team names, else
// those of every team here and of every session.
func waiting(ctx context.Context, a *app.App, all bool) (qs []decide.Question, of string, err error) {
	op, err := a.Op()
	if err != nil {
		return nil, "", err
	}
	if a.Flags.Team != "" {
		name, err := op.Pick(a.Flags.Team)
		if err != nil {
			return nil, "", err
		}
		qs, err := decide.Of(op).Pending(ctx, name, all)
		return qs, "in team " + string(name), err
	}
	rows, open, err := decide.Of(op).Sessions()
	if err != nil {
		a.Talk("%s %s", app.Yellow("note:"), operator.VisibleLines(err.Error()))
	}
	seen, err := decide.Of(op).SeenSessions()
	if err != nil {
		return nil, "", err
	}
	names, err := op.Root.Names()
	if err != nil {
		return nil, "", err
	}
	if len(names) == 0 && len(rows) == 0 && !seen && !Hooked(a) {
		_, err := op.Pick("") // there is no team: the error has the next step
		return nil, "", err
	}
	for _, name := range names {
		some, err := decide.Of(op).Pending(ctx, name, all)
		if err != nil && len(names)+len(rows) > 1 {
			saySkipped(a, name, err)
			continue
		}
		if err != nil {
			return nil, "", err
		}
		qs = append(qs, some...)
	}
	qs = append(qs, open...)
	if all {
		past, err := decide.Of(op).SessionsPast()
		if err != nil {
			a.Talk("%s %s", app.Yellow("note:"), operator.VisibleLines(err.Error()))
		}
		qs = append(qs, past...)
	}
	decide.SortQuestions(qs)
	return qs, whose(names, len(rows)), nil
}

// saySkipped prints why a list leaves a team out. A team of another program has no requests for
// this operator.
func saySkipped(a *app.App, name waggle.TeamName, err error) {
	var e *operator.Error
	if errors.As(err, &e) && e.Kind == operator.NotFound {
		return
	}
	a.Talk("%s team %s is left out: %s", app.Yellow("note:"), name, operator.VisibleLines(err.Error()))
}

// whose returns what a list is about.
func whose(names []waggle.TeamName, sessions int) string {
	s := ""
	switch len(names) {
	case 0:
	case 1:
		s = "in team " + string(names[0])
	default:
		s = fmt.Sprintf("in %d teams", len(names))
	}
	if sessions == 0 && s != "" {
		return s
	}
	if s != "" {
		s += " and "
	}
	return s + "in " + view.Count(sessions, "session")
}

// find returns a request by its handle or id, of a session or of the chosen team. A name that both
// have is refused.
func find(ctx context.Context, a *app.App, id string) (*decide.Question, error) {
	op, err := a.Op()
	if err != nil {
		return nil, err
	}
	var here *decide.Question
	if a.Flags.Team == "" {
		if here, err = decide.Of(op).ShowSession(id); err != nil {
			return nil, err
		}
	}
	_, name, err := a.Team()
	if err != nil {
		if here != nil {
			return here, nil
		}
		return nil, unknown(a, op, id, err)
	}
	there, err := decide.Of(op).Show(ctx, name, id)
	switch {
	case here == nil:
		return there, err
	case err != nil:
		return here, nil
	}
	return nil, &operator.Error{Kind: operator.Usage, Op: "find", Msg: id + " names a request of a session and one of team " + string(name),
		Advice: "use the id of the one that you mean", Near: []string{here.ID, there.ID}}
}

// unknown returns the error for a request that no session has, when no team is chosen.
func unknown(a *app.App, op operator.Operator, id string, err error) error {
	if names, nerr := op.Root.Names(); nerr == nil && len(names) == 0 && a.Flags.Team == "" {
		var near []string
		if _, qs, serr := decide.Of(op).Sessions(); serr == nil {
			for _, q := range qs {
				near = append(near, q.Handle)
			}
		}
		return &control.UnknownRequestError{ID: waggle.RequestID(id), Near: near}
	}
	return err
}

// ofSession reports whether a request is a session's. A name that the chosen team has too is
// refused.
func ofSession(ctx context.Context, a *app.App, op operator.Operator, id string) (bool, error) {
	if a.Flags.Team != "" {
		return false, nil
	}
	here, err := decide.Of(op).ShowSession(id)
	if here == nil || err != nil {
		return false, err
	}
	_, err = find(ctx, a, id)
	return err == nil, err
}

// findGroup returns a group of sessions' requests, or of the chosen team.
func findGroup(ctx context.Context, a *app.App, word string) (*decide.Group, error) {
	op, err := a.Op()
	if err != nil {
		return nil, err
	}
	if a.Flags.Team == "" {
		if g, err := decide.Of(op).ShowSessionGroup(word); g != nil || err != nil {
			return g, err
		}
	}
	_, name, err := a.Team()
	if err != nil {
		return nil, err
	}
	return decide.Of(op).ShowGroup(ctx, name, word)
}

// findChanged returns a request as it would be with another input.
func findChanged(ctx context.Context, a *app.App, id, input string) (*decide.Question, error) {
	op, err := a.Op()
	if err != nil {
		return nil, err
	}
	if of, err := ofSession(ctx, a, op, id); of || err != nil {
		if err != nil {
			return nil, err
		}
		q, err := decide.Of(op).SessionChanged(id, input)
		if q == nil && err == nil { // its session was removed meanwhile
			err = &control.UnknownRequestError{ID: waggle.RequestID(id)}
		}
		return q, err
	}
	_, name, err := a.Team()
	if err != nil {
		return nil, unknown(a, op, id, err)
	}
	return decide.Of(op).Changed(ctx, name, id, input)
}
