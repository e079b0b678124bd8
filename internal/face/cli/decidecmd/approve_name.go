package decidecmd

import (
	"context"
	"slices"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/view"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/protocol"
	"waggle/record"
	"waggle/team"
)

// askNamed answers the one open request of a member that a person names instead of a request: it
// shows the request and asks on the terminal. Without a terminal the error has the handle.
// done is false when word is no name of a present member of the chosen team, or is the handle or the
// id of a request.
func askNamed(ctx context.Context, a *app.App, word string, with decide.Answer) (done bool, err error) {
	op, name, err := a.Team()
	if err != nil {
		return false, nil // the usual way has the error
	}
	member, ok := memberNamed(ctx, op, name, word)
	if !ok {
		return false, nil
	}
	open, err := decide.Of(op).Pending(ctx, name, false)
	if err != nil {
		return false, nil
	}
	if slices.ContainsFunc(open, func(q decide.Request) bool { return q.Handle == record.CleanHandle(word) || q.ID == word }) {
		return false, nil
	}
	open = slices.DeleteFunc(open, func(q decide.Request) bool {
		return !protocol.SameName(protocol.MemberName(q.Member), member)
	})
	if len(open) == 0 {
		open = decide.Of(op).OfAdopted(ctx, name, member)
	}
	q, err := onlyOne(open, member, with.Via)
	if err != nil {
		return true, err
	}
	if with.Digest != "" || with.UpdatedInput != "" || with.Lesson != nil {
		return true, &operator.Error{Kind: operator.Usage, Op: with.Via, Msg: "--digest, --input and --rule go with a request, not with a member",
			Next: operator.Next{Step: operator.NextShow, ID: q.Handle}}
	}
	if len(q.Questions) > 0 {
		return true, &operator.Error{Kind: operator.Usage, Op: with.Via, Msg: string(member) + " asks for words, not for permission", Next: operator.Next{Step: operator.NextShowOptions, ID: q.Handle}}
	}
	if !a.CanAsk() {
		return true, &operator.Error{Kind: operator.Usage, Op: with.Via, Msg: string(member) + " " + view.Opens(q) + ": without a terminal it is answered by its handle",
			Next: operator.Next{Step: operator.NextAnswer, ID: q.Handle, Text: with.Via}, Near: []string{q.Handle}}
	}
	answer, err := askAbout(ctx, a, q, with)
	if err != nil {
		return true, err
	}
	name = protocol.TeamName(q.Team) // an adopted session's is its own
	results, err := decide.Of(op).Decide(ctx, name, []decide.Answer{answer})
	if err != nil {
		return true, err
	}
	return true, sayLearned(ctx, a, op, name, results, answer.Lesson)
}

// askAbout shows a request on the terminal and asks: approve for an answer, deny only whether to deny it.
func askAbout(ctx context.Context, a *app.App, q decide.Request, with decide.Answer) (decide.Answer, error) {
	if with.Allow {
		return a.Request(ctx, q, nil)
	}
	if err := confirmed(a.RequestYes(ctx, q, "", "deny it?", true)); err != nil {
		return decide.Answer{}, err
	}
	// The handle, because the asker chooses the id and could choose another's handle.
	return decide.Answer{ID: q.Handle, Digest: q.Digest, Reason: with.Reason, Via: "prompt"}, nil
}

// memberNamed finds a present member of a team by the name that a person types.
func memberNamed(ctx context.Context, op operator.Operator, in protocol.TeamName, word string) (protocol.MemberName, bool) {
	ms, _ := inspect.Of(op).Listed(ctx, in) // one that cannot be read has none
	i := slices.IndexFunc(ms, func(m team.Member) bool { return protocol.SameName(m.Name, protocol.MemberName(word)) })
	if i < 0 {
		return "", false
	}
	return ms[i].Name, true
}

// onlyOne returns the one open request of a member.
func onlyOne(open []decide.Request, member protocol.MemberName, op string) (decide.Request, error) {
	switch len(open) {
	case 0:
		return decide.Request{}, &operator.Error{Kind: operator.NotFound, Op: op, Msg: string(member) + " has no open request", Next: operator.NextPending.With()}
	case 1:
		return open[0], nil
	}
	var near []string
	for _, q := range open {
		near = append(near, q.Handle)
	}
	return decide.Request{}, &operator.Error{Kind: operator.Usage, Op: op, Msg: string(member) + " has several open requests: name one by its handle", Near: near, Next: operator.NextPending.With()}
}
