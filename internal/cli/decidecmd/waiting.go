package decidecmd

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"waggle"
	"waggle/control"
	"waggle/internal/cli/app"
	"waggle/internal/view"
	"waggle/internal/view/page"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/inspect"
)

// waiting returns the requests that a command is about: those of the team that --team names, else
// those of every team here, of which there may be several, and of every session.
func waiting(ctx context.Context, a *app.App, all bool) (qs []decide.Request, of string, several bool, err error) {
	op, err := a.Op()
	if err != nil {
		return nil, "", false, err
	}
	if a.Flags.Team != "" {
		qs, of, err = waitingIn(ctx, a, all)
		return qs, of, false, err
	}
	rows, open, err := decide.Of(op).Sessions()
	if err != nil {
		a.Talk("%s %s", app.Yellow("note:"), operator.VisibleLines(err.Error()))
	}
	seen, err := decide.Of(op).SeenSessions()
	if err != nil {
		return nil, "", false, err
	}
	names, err := op.Root.Names()
	if err != nil {
		return nil, "", false, err
	}
	if len(names) == 0 && len(rows) == 0 && !seen && !Hooked(a) {
		_, err := op.Pick("") // there is no team: the error has the next step
		return nil, "", false, err
	}
	for _, name := range names {
		some, err := decide.Of(op).Pending(ctx, name, all)
		if err != nil && len(names)+len(rows) > 1 {
			SaySkipped(a, name, err)
			continue
		}
		if err != nil {
			return nil, "", false, err
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
	decide.SortRequests(qs)
	return qs, whose(names, len(rows)), len(names) > 1, nil
}

// waitingIn returns the requests of the team of --team. Of one that has ended none is open.
func waitingIn(ctx context.Context, a *app.App, all bool) (qs []decide.Request, of string, err error) {
	op, name, err := a.TeamOrEnded(ctx)
	if err != nil {
		return nil, "", err
	}
	qs, err = decide.Of(op).Pending(ctx, name, all)
	if err != nil || op.Reads == nil {
		return qs, "in team " + string(name), err
	}
	st, err := inspect.Of(op).EndedStatus(ctx, name)
	if err != nil {
		return nil, "", err
	}
	if !all {
		qs = nil
	}
	return qs, "in team " + string(name) + ": it " + view.EndedWhen(st.EndedTeam, a.Clock()), nil
}

// OfTeams returns the open requests of teams, riskiest first, then oldest. A team that cannot be read
// is left out with a note.
func OfTeams(ctx context.Context, a *app.App, op operator.Operator, names []waggle.TeamName) (qs []decide.Request) {
	for _, name := range names {
		some, err := decide.Of(op).Pending(ctx, name, false)
		if err != nil {
			SaySkipped(a, name, err)
			continue
		}
		qs = append(qs, some...)
	}
	decide.SortRequests(qs)
	return qs
}

// SaySkipped prints why a list leaves a team out. A team of another program has no requests for
// this operator.
func SaySkipped(a *app.App, name waggle.TeamName, err error) {
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
	return s + "in " + page.Count(sessions, "session")
}

// inOther returns the error of a command that acts on requests and did not find them in the chosen
// team, or found several teams: with the team that has the first of them, when only one has it.
func inOther(ctx context.Context, a *app.App, op operator.Operator, ids []string, via string, err error) error {
	var unknown *control.UnknownRequestError
	if kind := operator.KindOf(err); err == nil || a.Flags.Team != "" || len(ids) == 0 || kind != operator.Usage && !errors.As(err, &unknown) {
		return err
	}
	in, _ := having(ctx, op, ids[0])
	if len(in) != 1 {
		return err
	}
	return &operator.Error{Kind: operator.Usage, Op: via, Msg: fmt.Sprintf("%s is a request of team %s", ids[0], in[0]),
		Advice: fmt.Sprintf("waggle %s %s --team %s", via, ids[0], in[0]), Near: []string{string(in[0])}}
}

// having returns the teams here that have a request of this handle or id, and the last one's request.
func having(ctx context.Context, op operator.Operator, id string) (in []waggle.TeamName, q *decide.Request) {
	names, err := op.Names()
	if err != nil {
		return nil, nil
	}
	for _, name := range names {
		if one, err := decide.Of(op).Show(ctx, name, id); err == nil {
			in, q = append(in, name), one
		}
	}
	return in, q
}

// look returns a request by its handle or id, for a command that only shows it: of a session, of the
// chosen team, or else of the only team that has it.
func look(ctx context.Context, a *app.App, id string) (*decide.Request, error) {
	q, err := find(ctx, a, id)
	if err == nil || a.Flags.Team != "" {
		return q, err
	}
	op, operr := a.Op()
	if operr != nil {
		return nil, operr
	}
	switch in, q := having(ctx, op, id); len(in) {
	case 0:
		if q := inEnded(ctx, op, id); q != nil {
			return q, nil
		}
		if operator.KindOf(err) == operator.Usage { // several teams: none of them has it
			return nil, &control.UnknownRequestError{ID: waggle.RequestID(id)}
		}
		return nil, err
	case 1:
		return q, nil
	default:
		e := &operator.Error{Kind: operator.Usage, Op: "find", Msg: "several teams have a request " + id + ": name one with --team"}
		for _, n := range in {
			e.Near = append(e.Near, string(n))
		}
		return nil, e
	}
}

// inEnded returns the request of this handle or id of the last team that has one, among those that have ended;
// nil without any.
func inEnded(ctx context.Context, op operator.Operator, id string) *decide.Request {
	names, err := inspect.Of(op).PastNames()
	if err != nil {
		return nil
	}
	for _, n := range slices.Backward(names) {
		ended, name, err := op.EndedTeam(ctx, n.ID)
		if err != nil {
			continue
		}
		if q, err := decide.Of(ended).Show(ctx, name, id); err == nil {
			return q
		}
	}
	return nil
}

// weigh counts what the rules that a request offers would have matched, where its team has records.
func weigh(ctx context.Context, a *app.App, q *decide.Request) error {
	op, err := a.Op()
	if err != nil {
		return err
	}
	return decide.Of(op).Weigh(ctx, q)
}

// find returns a request by its handle or id, of a session or of the chosen team. A name that both
// have is refused.
func find(ctx context.Context, a *app.App, id string) (*decide.Request, error) {
	op, err := a.Op()
	if err != nil {
		return nil, err
	}
	var here *decide.Request
	if a.Flags.Team == "" {
		if here, err = decide.Of(op).ShowSession(id); err != nil {
			return nil, err
		}
	}
	op, name, err := a.TeamRead(ctx)
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

// findGroup returns a group of sessions' requests, of the chosen team, or of the only team that has
// it.
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
	op, name, err := a.TeamRead(ctx)
	if err == nil {
		var g *decide.Group
		if g, err = decide.Of(op).ShowGroup(ctx, name, word); err == nil {
			return g, nil
		}
	}
	if a.Flags.Team != "" {
		return nil, err
	}
	names, nerr := op.Names()
	if nerr != nil {
		return nil, nerr
	}
	var found []*decide.Group
	for _, name := range names {
		if g, err := decide.Of(op).ShowGroup(ctx, name, word); err == nil {
			found = append(found, g)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	return nil, err
}

// findChanged returns a request as it would be with another input.
func findChanged(ctx context.Context, a *app.App, id, input string) (*decide.Request, error) {
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
