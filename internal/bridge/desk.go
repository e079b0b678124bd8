package bridge

import (
	"context"

	"waggle"
	"waggle/operator"
)

// At is an operator's desk for one team.
func At(op operator.Operator, team waggle.TeamName) Desk { return desk{op, team} }

type desk struct {
	op   operator.Operator
	team waggle.TeamName
}

func (d desk) Team() string { return string(d.team) }

func (d desk) Register(ctx context.Context, id string) (Mail, error) {
	return d.op.RegisterBridge(ctx, d.team, id)
}

func (d desk) Look(ctx context.Context) (View, error) {
	var v View
	pending, err := d.op.Pending(ctx, d.team, false)
	if err != nil {
		return View{}, err
	}
	v.Pending = pending
	status, err := d.op.Status(ctx, d.team)
	if err != nil {
		return View{}, err
	}
	v.Status = *status
	names := []waggle.MemberName{waggle.Lead}
	for _, m := range status.Members {
		if name := waggle.MemberName(m.Name); name != waggle.Lead {
			names = append(names, name)
		}
	}
	for _, name := range names {
		in, err := d.op.Inbox(ctx, d.team, name, false)
		if err != nil {
			return View{}, err
		}
		v.Inboxes = append(v.Inboxes, *in)
	}
	return v, nil
}

func (d desk) Decide(ctx context.Context, a operator.Answer) (operator.Decided, error) {
	results, err := d.op.Decide(ctx, d.team, []operator.Answer{a})
	if err != nil {
		return operator.Decided{}, err
	}
	return results[0], nil
}

func (d desk) Send(ctx context.Context, to, text string) ([]operator.Sent, error) {
	addr, err := waggle.ParseAddress(to)
	if err != nil {
		return nil, &operator.Error{Code: operator.CodeUsage, Op: "send", Err: err}
	}
	return d.op.Send(ctx, d.team, operator.Message{To: addr, Text: text})
}
