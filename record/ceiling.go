package record

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"waggle/policy"
)

// Ceiling limits what a team may do, whatever its file, its lead or a learned rule says: the user's
// own limit, from a file that no team file can change (trust §4 and §7). It is part of a version of
// the policy, so every process that folds the leader's journal applies it, at every prefix. The
// zero value and nil set no limit.
type Ceiling struct {
	File   string      `json:"file"`           // that it was read from
	SHA256 string      `json:"sha256"`         // of that file
	Mode   policy.Mode `json:"mode,omitempty"` // the widest; "": any, or default where Allow is set
	// Allow is the most that standing rules may allow; nil: anything, empty: nothing.
	Allow []policy.Rule `json:"allow,omitzero"`
	Deny  []policy.Rule `json:"deny,omitzero"` // hold always
	// Sandboxed is policy.Policy.Sandboxed for a ceiling with Allow; without Allow there is no
	// limit on it.
	Sandboxed bool `json:"sandboxed,omitempty"`
}

// Bounds reports whether the ceiling sets any limit.
func (c *Ceiling) Bounds() bool {
	return c != nil && (c.Mode != "" || c.Allow != nil || len(c.Deny) > 0)
}

// Same reports whether two ceilings are of the same file with the same content.
func (c *Ceiling) Same(o *Ceiling) bool {
	if c == nil || o == nil {
		return c == o
	}
	return c.File == o.File && c.SHA256 == o.SHA256 && c.Mode == o.Mode && (c.Allow == nil) == (o.Allow == nil) && c.Sandboxed == o.Sandboxed &&
		slices.Equal(c.Allow, o.Allow) && slices.Equal(c.Deny, o.Deny)
}

// Widest is the widest mode that the ceiling permits, "" when it permits any. A
// ceiling on rules limits modes too, because a wide mode would allow what the rules do
// not.
func (c *Ceiling) Widest() policy.Mode {
	switch {
	case c == nil:
		return ""
	case c.Mode == "" && c.Allow != nil:
		return policy.ModeDefault
	}
	return c.Mode
}

// Meet returns the effective mode under the ceiling for a requested mode.
func (c *Ceiling) Meet(m policy.Mode) policy.Mode {
	if w := c.Widest(); w != "" {
		return cmp.Or(m, policy.ModeDefault).Meet(w)
	}
	return m
}

// Bound is the policy that holds where this one was asked for: its deny rules and
// the ceiling's, those of its allow rules that the ceiling covers, and its mode
// where that meets the ceiling's.
func (c *Ceiling) Bound(p policy.Policy) policy.Policy {
	if !c.Bounds() {
		return p
	}
	mode := c.Meet(p.Mode)
	p = p.Narrow(c.Deny...)
	if c.Allow != nil {
		p.Mode = policy.ModeLockedDown // rules are compared with rules: a member's mode may be narrower
		p, _ = p.Within(policy.Policy{Mode: c.Widest(), Allow: c.Allow, Sandboxed: c.Sandboxed})
	}
	p.Mode = mode
	return p
}

// Policy is what the ceiling itself allows and denies.
func (c *Ceiling) Policy() policy.Policy {
	return policy.Policy{Mode: c.Widest(), Allow: c.Allow, Deny: c.Deny, Sandboxed: c.Sandboxed}
}

// hold is a verdict on a call under the ceiling. Bound compares rules with rules, as
// text: DIR/link/** is covered by DIR/**, and reaches further when the link leads out
// of DIR. So where the ceiling limits rules it judges what they allow once more.
func (c *Ceiling) hold(v policy.Verdict, mode policy.Mode, call policy.Call) policy.Verdict {
	if v.Decision != policy.Allow || c == nil || c.Allow == nil {
		return v
	}
	most := c.Policy()
	call.Own = nil // a team file reaches no further than the ceiling
	if own := most.Judge(call); own.Decision != policy.Allow {
		v.Decision, v.Rule, v.Why = own.Decision, "ceiling, "+own.Rule, own.Why
		for _, m := range policy.Modes() {
			if m.Mode == mode && m.Silent {
				v.Decision = policy.Deny
			}
		}
	}
	return v
}

// Beyond names what of a policy exceeds the ceiling: "mode bypassPermissions", "allow
// Bash".
func (c *Ceiling) Beyond(p policy.Policy) []string {
	var over []string
	if m := cmp.Or(p.Mode, policy.ModeDefault); c.Meet(m) != m {
		over = append(over, "mode "+string(m))
	}
	for _, r := range p.Allow {
		if c.denies(r) || c != nil && c.Allow != nil && !c.covers(r) {
			over = append(over, "allow "+r.String())
		}
	}
	if p.Sandboxed && c != nil && c.Allow != nil && !c.Sandboxed {
		over = append(over, policy.SandboxedAllow)
	}
	return over
}

// denies reports whether a deny rule of the ceiling covers all of an allow rule.
func (c *Ceiling) denies(r policy.Rule) bool {
	return c != nil && slices.ContainsFunc(c.Deny, func(d policy.Rule) bool {
		return d == r || d.Tool == r.Tool && d.Pattern == ""
	})
}

func (c *Ceiling) covers(r policy.Rule) bool {
	_, cut := policy.Policy{Mode: policy.ModeLockedDown, Allow: []policy.Rule{r}}.Within(policy.Policy{Mode: c.Widest(), Allow: c.Allow})
	return !slices.Contains(cut, "allow "+r.String())
}

// asks is everything that a set of rules asks for, whomever it is for.
func (p PolicySet) asks() policy.Policy {
	all := p.Policy
	all.Sandboxed = p.Sandboxed
	all.Allow = slices.Clone(all.Allow)
	for _, s := range p.Rules {
		if !s.Deny {
			all.Allow = append(all.Allow, s.Rule)
		}
	}
	return all
}

// Cut names what of the policy its ceiling makes ineffective.
func (p PolicySet) Cut() []string { return p.Ceiling.Beyond(p.asks()) }

// CheckCeiling refuses a new version that asks for more than its ceiling allows and than the version
// before it already asked for. A rule that a later ceiling has cut stays in the list, without
// effect, until it is removed.
func (p PolicySet) CheckCeiling(old PolicySet) error {
	if !p.Ceiling.Bounds() {
		return nil
	}
	had := p.Ceiling.Beyond(old.asks())
	over := slices.DeleteFunc(p.Cut(), func(s string) bool { return slices.Contains(had, s) })
	if len(over) == 0 {
		return nil
	}
	return &CeilingError{Ceiling: p.Ceiling, Over: over}
}

// CeilingError reports a policy or a mode that exceeds the user's ceiling.
type CeilingError struct {
	Ceiling *Ceiling
	Over    []string // what, as Beyond names it
}

func (e *CeilingError) Error() string {
	return fmt.Sprintf("%s: beyond the ceiling in %s%s", strings.Join(e.Over, ", "), e.Ceiling.File, e.Ceiling.limit())
}

// limit says the widest mode, for a message.
func (c *Ceiling) limit() string {
	if w := c.Widest(); w != "" {
		return " (widest mode " + string(w) + ")"
	}
	return ""
}
