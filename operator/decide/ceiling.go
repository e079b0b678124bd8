package decide

import (
	"context"
	"path/filepath"

	"waggle/operator"
	"waggle/policy"
	"waggle/record"
)

// CeilingOf is the one that a new version of a policy gets: the user's file as it is
// now. Where there is no file the one on record stays, so that a missing variable of
// the environment lifts nothing.
func (o Operator) CeilingOf(recorded *record.Ceiling) *record.Ceiling {
	switch {
	case o.Ceiling == nil:
		return recorded
	case !o.Ceiling.Bounds():
		return nil
	}
	return o.Ceiling
}

// Adopt puts the user's ceiling on record when it is another than the team's.
func (o Operator) Adopt(ctx context.Context, s *operator.State) (bool, error) {
	if o.CeilingOf(s.Lead.Policy.Ceiling).Same(s.Lead.Policy.Ceiling) {
		return false, nil
	}
	c, err := o.changeOpen(ctx, s, func(*operator.State, *record.PolicySet) error { return nil })
	return c != nil && c.Changed, err
}

// CeilingView is the user's ceiling as a person is shown it.
type CeilingView struct {
	File   string
	SHA256 string
	Mode   string   // the widest; "": any
	Allow  []string // the most that rules may allow; null: anything
	Deny   []string
	Cut    []string // what of the policy it keeps from holding
}

// ViewCeiling is the recorded ceiling for people, nil where there is none.
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

func ruleTexts(rules []policy.Rule) []string {
	out := []string{}
	for _, r := range rules {
		out = append(out, r.String())
	}
	return out
}
