package supervise

import (
	"context"
	"fmt"

	"waggle/control"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/protocol"
	"waggle/record"
)

// setBudgets records the budgets of a team, if they are others than those that hold. Where there are none,
// the team keeps the brake that it was made with.
func (o Operator) setBudgets(ctx context.Context, s *operator.State, b record.Budgets) error {
	_, err := s.Journal.Append(ctx, o.Writer(), func() ([]journal.Draft, error) {
		if had := s.Lead.Budgets(); had != nil && b.Team == nil && b.Run == nil && len(b.Members) == 0 {
			b.Brake = had.Brake
		}
		return s.Lead.SetBudgets(b, o.Writer())
	})
	return err
}

// Budgets lists the budgets of a team: its own, the run's, its brake, and those of members.
func (o Operator) Budgets(ctx context.Context, name protocol.TeamName) ([]inspect.Budget, error) {
	s, err := o.Open(ctx, name, operator.Act)
	if err != nil {
		return nil, err
	}
	if _, err := o.Preview(ctx, s); operator.Unpassing(err) != nil {
		return nil, err
	}
	set := s.Lead.Budgets()
	all := []inspect.Budget{}
	if set == nil {
		return all, nil
	}
	add := func(scope record.BudgetScope, member protocol.MemberName, limit *record.Limit, own *control.Worker) {
		if limit == nil {
			return
		}
		now, used, _ := s.Lead.BudgetNow(scope, member, own)
		b := inspect.Budget{Scope: scope, Member: string(member), BudgetLimit: inspect.BudgetLimit(now), Used: used, Set: *limit}
		if now.Set() { // a brake that was allowed has no limit any more
			b.BudgetRaise = inspect.BudgetRaise{CostMicros: now.CostMicros - limit.CostMicros, Tokens: now.Tokens - limit.Tokens, Turns: now.Turns - limit.Turns}
		}
		all = append(all, b)
	}
	add(record.ScopeTeam, "", set.Team, nil)
	add(record.ScopeRun, "", set.Run, nil)
	add(record.ScopeBrake, "", set.Brake, nil)
	for _, m := range s.Lead.Live() {
		limit, ok := set.Members[m.Name]
		if !ok {
			continue
		}
		w, err := s.Worker(m.Instance)
		if err != nil {
			return nil, err
		}
		add(record.ScopeMember, m.Name, &limit, w)
	}
	return all, nil
}

// SetBudget sets one budget of a team, nil removes it. The operator does that; what the operator has
// raised of it before is over, and the other budgets stay. The brake of a team for which somebody sets a
// budget, or says that it has none, is over.
func (o Operator) SetBudget(ctx context.Context, name protocol.TeamName, scope record.BudgetScope, member string, limit *record.Limit) error {
	s, err := o.Open(ctx, name, operator.Command("budget"))
	if err != nil {
		return err
	}
	var of protocol.MemberName
	if scope == record.ScopeMember {
		m, err := decide.Member(s, member)
		if err != nil {
			return err
		}
		of = m.Name
	}
	_, err = s.Journal.Append(ctx, o.Writer(), func() ([]journal.Draft, error) {
		b := record.Budgets{}
		if had := s.Lead.Budgets(); had != nil {
			b = *had
		}
		b.Brake = nil
		switch scope {
		case record.ScopeTeam:
			b.Team = limit
		case record.ScopeRun:
			b.Run = limit
		case record.ScopeMember:
			if b.Members == nil {
				b.Members = map[protocol.MemberName]record.Limit{}
			}
			delete(b.Members, of)
			if limit != nil {
				b.Members[of] = *limit
			}
		default:
			return nil, fmt.Errorf("budget: no scope %q", scope)
		}
		return s.Lead.SetBudgets(b, o.Writer())
	})
	return err
}

// broke is a budget that keeps every open task of a run from going on, and that was refused to be
// raised; nil while some task can go on.
func (r *run) broke() (e *record.Excess) {
	for _, t := range r.job.tasks {
		if t.over() || t.assigned == 0 { // it comes after another
			continue
		}
		var of *record.Excess
		r.l.ViewMember(t.instance, func(w *control.Worker) { of = w.Broke(r.S.Lead) })
		if of == nil {
			return nil
		}
		e = of
	}
	return e
}
