package decide

import (
	"context"

	"waggle"
	"waggle/operator"
)

// Open are the questions of a team that wait, as its record has them now; "" names none.
// With sessions those of sessions that waggle does not run come too. It reads and does
// nothing else: what cannot be read asks nothing.
func (o Operator) Open(ctx context.Context, name waggle.TeamName, sessions bool) []Question {
	var qs []Question
	if s := o.recorded(ctx, name); s != nil {
		for _, r := range s.Lead.Pending() {
			qs = append(qs, o.Question(s, r))
		}
	}
	if sessions {
		_, open, _ := o.Sessions() // what cannot be read is offered by nobody
		qs = append(qs, open...)
	}
	return qs
}

// Rules are the rules of a team that hold, as a person types them: those of its policy,
// then those that were added.
func (o Operator) Rules(ctx context.Context, name waggle.TeamName) []string {
	s := o.recorded(ctx, name)
	if s == nil {
		return nil
	}
	var out []string
	for _, r := range s.Lead.Policy.Policy.Allow {
		out = append(out, r.String())
	}
	for _, r := range s.Lead.Policy.Policy.Deny {
		out = append(out, r.String())
	}
	for _, r := range s.Lead.Policy.Rules {
		out = append(out, r.Rule.String())
	}
	return out
}

// recorded is a team by its record, nil when there is none that can be read.
func (o Operator) recorded(ctx context.Context, name waggle.TeamName) *operator.State {
	if name == "" {
		return nil
	}
	s, err := o.State(ctx, name)
	if err != nil {
		return nil
	}
	return s
}
