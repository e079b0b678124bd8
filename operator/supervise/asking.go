package supervise

import (
	"context"

	"waggle/operator"
	"waggle/operator/decide"
	"waggle/policy"
)

// ask shows the open requests at the terminal.
func (r *raised) ask(ctx context.Context) {
	if r.showing == nil {
		return
	}
	a := &r.asking
	a.Operator, a.State, a.Ask = decide.Of(r.o.Operator), r.S, r.showing
	a.Put(ctx, r.S.Lead.Pending())
}

// wait passes on what waits for the operator.
func (r *raised) wait() {
	if r.waiting == nil {
		return
	}
	lead, all := r.S.Lead, []Waiting{}
	_, agent := lead.LeadAgent()
	agent = agent || r.o.Agent != nil
	for _, q := range lead.Pending() {
		first := agent && lead.ForLead(q) && lead.Policy.DeciderOf(q.Gate()) != policy.DecideTwo && decide.LeadOut(lead, q.Gate()) == ""
		if m, ok := lead.ByInstance(q.Instance); ok && !first {
			all = append(all, Waiting{q.Key, m.Name})
		}
	}
	r.waiting(r.S, all)
}

// answer handles an answer from the terminal.
func (r *raised) answer(ctx context.Context, rep decide.Reply) error {
	refused, err := r.asking.Take(ctx, rep)
	if refused != "" {
		r.Note(operator.Note{What: "not taken", Member: "", Text: refused})
	}
	return err
}
