package supervise

import (
	"context"

	"waggle/operator"
	"waggle/operator/decide"
)

// ask shows the open requests at the terminal.
func (r *run) ask(ctx context.Context) {
	if r.ro.Ask == nil {
		return
	}
	a := &r.asking
	a.Operator, a.State, a.Ask = decide.Of(r.o.Operator), r.S, r.ro.Ask
	a.Put(ctx, r.S.Lead.Pending())
}

// answer handles an answer from the terminal.
func (r *run) answer(ctx context.Context, rep decide.Reply) error {
	refused, err := r.asking.Take(ctx, rep)
	if refused != "" {
		r.Note(operator.Note{What: "not taken", Member: "", Text: refused})
	}
	return err
}
