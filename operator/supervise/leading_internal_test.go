package supervise

import (
	"slices"
	"testing"

	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/policy"
	"waggle/record"
)

// TestWider: the lead's agent starts no member with more rights than its own.
func TestWider(t *testing.T) {
	rules := func(texts ...string) (rs []policy.Rule) {
		for _, s := range texts {
			r, err := policy.ParseRule(s)
			testenv.Must(t, err)
			rs = append(rs, r)
		}
		return rs
	}
	lead := &control.Member{Joined: record.Joined{Instance: "l"}}
	team := policy.Policy{Mode: policy.ModeDefault, Allow: rules("Bash(true)"), Deny: rules("Bash(rm:*)")}
	for _, c := range []struct {
		name string
		set  record.PolicySet
		want []string
	}{
		{"the same policy", record.PolicySet{Policy: team}, nil},
		{"a wider one of its own", record.PolicySet{Policy: team, Lead: &policy.Policy{Allow: rules("Bash(true)", "Bash(make:*)")}}, nil},
		{"a narrower one", record.PolicySet{Policy: team, Lead: &policy.Policy{}}, []string{"allow Bash(true)"}},
		{"a denial of its own", record.PolicySet{Policy: team, Lead: &policy.Policy{Allow: rules("Bash(true)"), Deny: rules("WebFetch")}}, []string{"deny WebFetch"}},
		{"a learned rule for all", record.PolicySet{Policy: team, Lead: &policy.Policy{Allow: rules("Bash(true)")}, Rules: []record.Scoped{{Rule: rules("Edit")[0]}}}, []string{"allow Edit"}},
		{"a learned denial for it", record.PolicySet{Policy: team, Rules: []record.Scoped{{Rule: rules("Edit")[0], Instance: "l", Deny: true}}}, []string{"deny Edit"}},
		{"rules for another", record.PolicySet{Policy: team, Lead: &policy.Policy{Allow: rules("Bash(true)")}, Rules: []record.Scoped{{Rule: rules("Edit")[0], Instance: "a"}}}, nil},
	} {
		if got := wider(c.set, lead); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
