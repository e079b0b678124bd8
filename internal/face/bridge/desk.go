package bridge

import (
	"context"

	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/operator/mail"
	"waggle/protocol"
)

// desk is an operator's Desk for one team.
type desk struct {
	op   operator.Operator
	team protocol.TeamName
}

func (d desk) Team() string { return string(d.team) }

func (d desk) Register(ctx context.Context, id string) (Mail, error) {
	return mail.Of(d.op).RegisterBridge(ctx, d.team, id)
}

func (d desk) Look(ctx context.Context) (View, error) {
	var v View
	pending, err := decide.Of(d.op).Pending(ctx, d.team, false)
	if err != nil {
		return View{}, err
	}
	v.Pending, v.At = pending, d.op.Minter.Now()
	status, err := inspect.Of(d.op).Status(ctx, d.team)
	if err != nil {
		return View{}, err
	}
	v.Status = *status
	names := []protocol.MemberName{protocol.Lead}
	for _, m := range status.Members {
		if name := protocol.MemberName(m.Name); name != protocol.Lead {
			names = append(names, name)
		}
	}
	for _, name := range names {
		in, err := mail.Of(d.op).Inbox(ctx, d.team, name, false)
		if err != nil {
			return View{}, err
		}
		v.Inboxes = append(v.Inboxes, *in)
	}
	return v, nil
}

func (d desk) Decide(ctx context.Context, a decide.Answer) (decide.Decided, error) {
	results, err := decide.Of(d.op).Decide(ctx, d.team, []decide.Answer{a})
	if err != nil {
		return decide.Decided{}, err
	}
	return results[0], nil
}

func (d desk) Send(ctx context.Context, to, text string) ([]mail.Sent, error) {
	addr, err := protocol.ParseAddress(to)
	if err != nil {
		return nil, &operator.Error{Kind: operator.Usage, Op: "send", Err: err}
	}
	return mail.Of(d.op).Send(ctx, d.team, mail.Message{To: addr, Text: text})
}
