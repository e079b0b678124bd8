package policy_test

import (
	"testing"

	"waggle/policy"
)

// TestWithinUnreadable: a rule that cannot be read allows nothing, so no ceiling covers it, and
// such a rule of a ceiling allows nothing.
func TestWithinUnreadable(t *testing.T) {
	bad := policy.Rule{Tool: "Edit", Pattern: "a\u202eb"}
	for _, mode := range []policy.Mode{policy.ModeDefault, policy.ModeBypassPermissions} {
		p := policy.Policy{Mode: mode, Allow: []policy.Rule{bad}}
		if got, cut := p.Within(policy.Policy{Mode: mode, Allow: policy.MustRules("Edit")}); len(cut) != 1 {
			t.Errorf("%s: asked for: %v, cut %v", mode, got.Allow, cut)
		}
		p = policy.Policy{Mode: mode, Allow: policy.MustRules("Edit")}
		if got, _ := p.Within(policy.Policy{Mode: mode, Allow: []policy.Rule{bad}}); names(got.Allow) == bad.String() {
			t.Errorf("%s: the ceiling's: %v", mode, got.Allow)
		}
	}
}
