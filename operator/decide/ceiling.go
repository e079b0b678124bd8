package decide

import (
	"context"
	"path/filepath"

	"waggle/operator"
	"waggle/policy"
	"waggle/record"
)

// CeilingOf returns the ceiling for a new version of a policy: that of the user's file now. Without
// a file the recorded one stays, so that a missing environment variable lifts nothing.
func (o Operator) CeilingOf(recorded *record.Ceiling) *record.Ceiling {
	switch {
	case o.Ceiling == nil:
		return recorded
	case !o.Ceiling.Bounds():
		return nil
	}
	return o.Ceiling
}

// Adopt records the user's ceiling when it differs from the team's.
func (o Operator) Adopt(ctx context.Context, s *operator.State) (bool, error) {
	if o.CeilingOf(s.Lead.Policy.Ceiling).Same(s.Lead.Policy.Ceiling) {
		return false, nil
	}
	c, err := o.changeOpen(ctx, s, func(*operator.State, *record.PolicySet) error { return nil })
	return c != nil && c.Changed, err
}

// CeilingView is the user's ceiling as it is shown.
type CeilingView struct {
	File   string                    `json:"file"`
	SHA256 string                    `json:"sha256"`
	Mode   string                    `json:"mode"`  // the widest; "": any
	Allow  operator.Nullable[string] `json:"allow"` // the most that rules may allow; null: no limit
	Deny   []string                  `json:"deny"`
	Cut    []string                  `json:"cut"` // parts of the policy that the ceiling makes ineffective
}

// ViewCeiling returns the recorded ceiling for people, nil when there is none.
func ViewCeiling(set record.PolicySet) *CeilingView {
	c := set.Ceiling
	if !c.Bounds() {
		return nil
	}
	v := &CeilingView{File: filepath.Clean(c.File), SHA256: c.SHA256, Mode: string(c.Widest()), Deny: ruleTexts(c.Deny), Cut: append([]string{}, set.Cut()...)}
	if c.Allow != nil {
		v.Allow = ruleTexts(c.Allow)
	}
	return v
}

func ruleTexts(rules []policy.Rule) []string { return mapped(rules, policy.Rule.String) }

// mapped makes a list of what is made of each of some things, never nil.
func mapped[T, U any](all []T, of func(T) U) []U {
	out := make([]U, 0, len(all))
	for _, one := range all {
		out = append(out, of(one))
	}
	return out
}
