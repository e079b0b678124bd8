package decide

import (
	"context"
	"slices"

	"waggle/control"
	"waggle/operator"
	"waggle/protocol"
	"waggle/record"
)

// OpenRequests returns the open requests of a team as its journals have them now; name "" leaves the team
// out. sessions adds those of sessions that waggle does not run. It only reads: what cannot be read
// is left out.
func (o Operator) OpenRequests(ctx context.Context, name protocol.TeamName, sessions bool) []Request {
	var qs []Request
	if s := o.recorded(ctx, name); s != nil {
		qs = mapped(s.Lead.Pending(), func(r *control.Request) Request { return o.Request(s, r) })
	}
	if sessions {
		_, open, _ := o.Sessions() // completion leaves out what cannot be read
		qs = append(qs, slices.DeleteFunc(open, func(q Request) bool { return q.Kind == KindDialog })...)
	}
	return qs
}

// Rules returns the rules in force of a team, as a person types them: those of its policy, then
// those that were added.
func (o Operator) Rules(ctx context.Context, name protocol.TeamName) []string {
	s := o.recorded(ctx, name)
	if s == nil {
		return nil
	}
	return mapped(allRules(s.Lead.Policy), func(r record.Scoped) string { return r.Rule.String() })
}

// recorded opens a team's journal, nil when it cannot be read.
func (o Operator) recorded(ctx context.Context, name protocol.TeamName) *operator.State {
	if name == "" {
		return nil
	}
	if s, err := o.Open(ctx, name, operator.Act); err == nil {
		return s
	}
	return nil
}
