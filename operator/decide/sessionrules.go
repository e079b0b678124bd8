package decide

import (
	"context"
	"time"

	"waggle/internal/claude/session"
	"waggle/operator"
	"waggle/policy"
)

// SessionRules are the user's rules for sessions, as `policy sessions --json` lists
// them.
type SessionRules struct {
	On      bool          `json:"on"` // off: the rules answer nothing
	Rules   []SessionRule `json:"rules"`
	Changed bool          `json:"changed"`
}

// SessionRule is one rule of the user for sessions.
type SessionRule struct {
	Rule    string     `json:"rule"`
	Effect  string     `json:"effect"`     // allow, deny
	Expires *time.Time `json:"expires_at"` // null: never
	Over    bool       `json:"over"`       // it has ended
}

// SessionRules reads the user's rules for sessions.
func (o Operator) SessionRules() (*SessionRules, error) {
	r, err := o.sessionStore().Rules()
	return o.rulesView(r, false), err
}

// TurnSessionRules turns the rules for sessions on or off.
func (o Operator) TurnSessionRules(ctx context.Context, on bool) (*SessionRules, error) {
	return o.editSessionRules(ctx, func(r *session.Rules) bool {
		changed := r.On != on
		r.On = on
		return changed
	})
}

// AddSessionRule adds a rule for sessions; until nil: without end.
func (o Operator) AddSessionRule(ctx context.Context, rule policy.Rule, deny bool, until *time.Time) (*SessionRules, error) {
	return o.editSessionRules(ctx, func(r *session.Rules) bool {
		return r.Add(session.Rule{Rule: rule, Deny: deny, Until: until, At: o.Minter.Now().UTC()})
	})
}

// RemoveSessionRule removes a rule for sessions.
func (o Operator) RemoveSessionRule(ctx context.Context, rule policy.Rule, deny bool) (*SessionRules, error) {
	out, err := o.editSessionRules(ctx, func(r *session.Rules) bool { return r.Remove(rule, deny) })
	if err == nil && !out.Changed {
		return nil, &operator.Error{Kind: operator.NotFound, Op: "policy", Msg: "sessions have no rule " + rule.String(),
			Near: mapped(out.Rules, func(r SessionRule) string { return r.Rule })}
	}
	return out, err
}

func (o Operator) editSessionRules(ctx context.Context, change func(*session.Rules) bool) (*SessionRules, error) {
	if err := o.Guard(ctx, nil, "policy sessions"); err != nil {
		return nil, err
	}
	r, changed, err := o.sessionStore().EditRules(ctx, change)
	if err != nil {
		return nil, err
	}
	return o.rulesView(r, changed), nil
}

func (o Operator) rulesView(r session.Rules, changed bool) *SessionRules {
	now := o.Minter.Now()
	return &SessionRules{On: r.On, Changed: changed, Rules: mapped(r.Rules, func(one session.Rule) SessionRule {
		return SessionRule{Rule: one.Rule.String(), Effect: effectOf(one.Deny), Expires: one.Until, Over: one.Until != nil && !now.Before(*one.Until)}
	})}
}
