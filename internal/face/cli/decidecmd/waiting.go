package decidecmd

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"waggle/control"
	"waggle/internal/face/cli/app"
	"waggle/internal/face/view"
	"waggle/internal/face/view/page"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/protocol"
	"waggle/record"
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
	rows, open, store, err := Sessions(a, op)
	if err != nil {
		return nil, "", false, err
	}
	names, err := op.Root.Names()
	if err != nil {
		return nil, "", false, err
	}
	if len(names) == 0 && len(rows)+len(open) == 0 && !store {
		_, err := op.Pick("") // there is no team: the error has the next step
		return nil, "", false, err
	}
	if qs, err = OfTeams(ctx, a, op, names, all, len(names)+len(rows) > 1); err != nil {
		return nil, "", false, err
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
	return qs, "in team " + string(name) + ": it " + view.EndedWhen(st.At, st.How, a.Clock()), nil
}

// OfTeams returns the requests of teams, with all those that were answered too. A team that cannot be read is the error, or
// with skip left out with a note.
func OfTeams(ctx context.Context, a *app.App, op operator.Operator, names []protocol.TeamName, all, skip bool) (qs []decide.Request, err error) {
	for _, name := range names {
		some, err := decide.Of(op).Pending(ctx, name, all)
		if err != nil && !skip {
			return nil, err
		}
		if err != nil {
			SaySkipped(a, name, err)
		}
		qs = append(qs, some...)
	}
	return qs, nil
}

// SaySkipped prints why a list leaves a team out. A team of another program has no requests for
// this operator; a command that was asked to end has nothing to say.
func SaySkipped(a *app.App, name protocol.TeamName, err error) {
	if e, ok := errors.AsType[*operator.Error](err); ok && e.Kind == operator.NotFound || errors.Is(err, context.Canceled) {
		return
	}
	a.Talk("%s team %s is left out: %s", app.Yellow("note:"), name, operator.VisibleLines(err.Error()))
}

// whose returns what a list is about.
func whose(names []protocol.TeamName, sessions int) string {
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

// look is find for a command that only shows a request: it also finds it in a team that has ended, and takes the name of
// a member for its one open request.
func look(ctx context.Context, a *app.App, op operator.Operator, word string) (*decide.Request, error) {
	q, err := find(ctx, a, op, word)
	if err == nil || operator.KindOf(err) != operator.NotFound {
		return q, err
	}
	names := []protocol.TeamName{protocol.TeamName(a.Flags.Team)}
	if a.Flags.Team == "" {
		if q := inEnded(ctx, op, word); q != nil {
			return q, nil
		}
		var nerr error
		if names, nerr = op.Names(); nerr != nil {
			return nil, nerr
		}
	}
	var open []decide.Request
	for _, name := range names {
		member, ok := memberNamed(ctx, op, name, word)
		if !ok {
			continue
		}
		err = nil
		qs, perr := decide.Of(op).Pending(ctx, name, false)
		if perr != nil {
			return nil, perr
		}
		for _, q := range qs {
			if protocol.SameName(protocol.MemberName(q.Member), member) {
				open = append(open, q)
			}
		}
	}
	if err != nil {
		return nil, err
	}
	one, err := onlyOne(open, protocol.MemberName(word), "show")
	return &one, err
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

// find returns a request by its handle or id: of the team that --team names, else of the session or the team that has
// it. Of several that have it those in which it is open count; a person who has not said which one is asked to.
func find(ctx context.Context, a *app.App, op operator.Operator, id string) (*decide.Request, error) {
	if a.Flags.Team != "" {
		reads, name, err := a.TeamRead(ctx)
		if err != nil {
			return nil, err
		}
		q, err := decide.Of(reads).Show(ctx, name, id)
		if decide.IsUnknown(err) {
			err = elsewhere(ctx, op, name, id, err)
		}
		return q, err
	}
	found, err := having(ctx, op, id)
	for _, is := range []func(*decide.Request) bool{
		func(q *decide.Request) bool { return q.Handle == record.CleanHandle(id) }, // an asker chooses its id, and could choose another's handle
		func(q *decide.Request) bool { return q.Status == decide.StatusOpen },
	} {
		if some := slices.DeleteFunc(slices.Clone(found), func(q *decide.Request) bool { return !is(q) }); len(some) > 0 {
			found = some
		}
	}
	switch len(found) {
	case 0:
		return nil, err
	case 1:
		return found[0], nil
	}
	e := &operator.Error{Kind: operator.Usage, Op: "find", Msg: "several teams have a request " + id + ": name one with --team"}
	for _, q := range found {
		e.Near = append(e.Near, q.Team)
	}
	if found[0].Team == "-" {
		e.Msg, e.Advice = fmt.Sprintf("%s names a request of a session and one of team %s", id, found[1].Team), "use the id of the one that you mean"
		e.Near = []string{found[0].ID, found[1].ID}
	}
	return nil, e
}

// having returns the requests of this handle or id, of sessions and of teams here. Without any, err says why.
func having(ctx context.Context, op operator.Operator, id string) (found []*decide.Request, err error) {
	names, err := op.Names()
	if err != nil {
		return nil, err
	}
	unknown := &control.UnknownRequestError{ID: protocol.RequestID(id)}
	var other error
	for _, name := range append([]protocol.TeamName{decide.SessionTeam}, names...) {
		var u *control.UnknownRequestError
		switch q, err := decide.Of(op).Show(ctx, name, id); {
		case err == nil:
			found = append(found, q)
		case errors.As(err, &u):
			unknown.Near = append(unknown.Near, u.Near...)
		case name == decide.SessionTeam:
			return nil, err
		case operator.KindOf(err) != operator.NotFound && other == nil: // NotFound: another program leads it
			other = err
		}
	}
	if len(found) == 0 && len(names) == 0 {
		if qs, err := decide.Of(op).Pending(ctx, decide.SessionTeam, false); err == nil {
			for _, q := range qs {
				if q.Handle != "" {
					unknown.Near = append(unknown.Near, q.Handle)
				}
			}
		}
	}
	if other != nil {
		return found, other
	}
	return found, unknown
}

// elsewhere is the error for a request that the team of --team has not, and that others here may have.
func elsewhere(ctx context.Context, op operator.Operator, team protocol.TeamName, id string, err error) error {
	found, _ := having(ctx, op, id)
	e := &operator.Error{Kind: operator.NotFound, Op: "find", Msg: fmt.Sprintf("team %s has no request %s", team, id)}
	for _, q := range found {
		if q.Status == decide.StatusOpen && q.Team != "-" {
			e.Near = append(e.Near, q.Team)
		}
	}
	if len(e.Near) == 0 {
		return err
	}
	e.Msg += "; team " + e.Near[0] + " has it"
	e.Advice = "--team " + e.Near[0]
	return e
}

// toTeam chooses the team of the requests that a command names, where --team names none: the one that has them. Requests
// that nobody has leave the choice as it is, and so do names of members; those of several teams are refused before
// anything is decided. sessions reports that they are of sessions, which leaves the choice as it is too.
func toTeam(ctx context.Context, a *app.App, op operator.Operator, via string, ids ...string) (sessions bool, err error) {
	if a.Flags.Team != "" {
		return false, nil
	}
	team, first := "", ""
	var mine []string
	for _, id := range ids {
		q, ferr := find(ctx, a, op, id)
		switch {
		case decide.IsUnknown(ferr):
		case ferr != nil:
			return false, ferr
		case q.Team == decide.SessionTeam:
			mine = append(mine, id)
		case q.ID != id && q.Handle != record.CleanHandle(id) && isMember(ctx, op, id):
		case team != "" && q.Team != team:
			err = &operator.Error{Kind: operator.Usage, Op: via, Msg: fmt.Sprintf("%s is a request of team %s, and %s one of team %s: answer them in two commands", first, team, id, q.Team)}
		default:
			team, first = q.Team, id
		}
	}
	if len(mine) > 0 && len(mine) < len(ids) {
		err = &operator.Error{Kind: operator.Usage, Op: via, Msg: "some of these are requests of sessions and some of a team: answer them in two commands", Near: mine}
	}
	a.Flags.Team = team
	return len(mine) > 0, err
}

// teamHaving returns the team of the requests that a command names, as toTeam chooses it.
func teamHaving(ctx context.Context, a *app.App, op operator.Operator, via string, ids ...string) (operator.Operator, protocol.TeamName, error) {
	if _, err := toTeam(ctx, a, op, via, ids...); err != nil {
		return op, "", err
	}
	return a.Team()
}

// isMember reports the name of a member of any team here.
func isMember(ctx context.Context, op operator.Operator, word string) bool {
	names, _ := op.Names()
	return slices.ContainsFunc(names, func(n protocol.TeamName) bool {
		_, ok := memberNamed(ctx, op, n, word)
		return ok
	})
}

// findGroup returns a group of sessions' requests, of the chosen team, or of the only team that has
// it.
func findGroup(ctx context.Context, a *app.App, op operator.Operator, word string) (*decide.Group, error) {
	if a.Flags.Team == "" {
		if g, err := decide.Of(op).ShowGroup(ctx, decide.SessionTeam, word); operator.KindOf(err) != operator.NotFound {
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
func findChanged(ctx context.Context, a *app.App, op operator.Operator, id, input string) (*decide.Request, error) {
	sessions, err := toTeam(ctx, a, op, "approve", id)
	if err != nil {
		return nil, err
	}
	op, name, err := a.Team()
	if sessions {
		name, err = decide.SessionTeam, nil
	}
	if err != nil {
		return nil, err
	}
	return decide.Of(op).Changed(ctx, name, id, input)
}
