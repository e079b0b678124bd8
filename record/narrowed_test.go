package record_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waggle/policy"
	"waggle/record"
)

// TestNarrowed: a policy after a break allows nothing by a rule, keeps every deny rule from before
// the break and after it, and is below every mode that there was.
func TestNarrowed(t *testing.T) {
	set := record.PolicySet{Policy: policy.Policy{Version: 3, Mode: policy.ModeBypassPermissions, Allow: []policy.Rule{policy.MustRules("Bash")[0]}, Deny: []policy.Rule{policy.MustRules("Bash(rm:*)")[0]}},
		Decide: record.Deciders{policy.GateTool: policy.DecideLeader}, Lead: &policy.Policy{Allow: []policy.Rule{policy.MustRules("Bash")[0]}}, Deadline: 9, File: "f", Path: "p",
		Rules: []record.Scoped{{Rule: policy.MustRules("Bash(go:*)")[0]}, {Rule: policy.MustRules("Bash(dd:*)")[0], Deny: true, Instance: "ada-1", From: &record.Key{ID: "q"}}, {Rule: policy.MustRules("Bash(nc:*)")[0], Deny: true, Instance: "gone"}},
		Hosts: []record.HostGrant{{Host: "a.test"}, {Host: "b.test", Deny: true}, {Host: "c.test", Deny: true, Instance: "ada-1", From: &record.Key{ID: "r"}}}}
	after := record.PolicySet{Policy: policy.Policy{Version: 7, Mode: policy.ModePlan, Deny: []policy.Rule{policy.MustRules("Bash(curl:*)")[0], policy.MustRules("Bash(rm:*)")[0]}}}
	n := set.Narrowed([]record.PolicySet{after}, map[record.Instance]record.Instance{"": "", "ada-1": "ada-2"})
	if n.Policy.Version != 8 || n.Policy.Mode != policy.ModePlan || len(n.Policy.Allow) > 0 || strings.Join(texts(n.Policy.Deny), " ") != "Bash(rm:*) Bash(curl:*)" {
		t.Errorf("policy %+v", n.Policy)
	}
	if n.DeciderOf(policy.GateTool) != policy.DecideOperator || n.Lead == nil || len(n.Lead.Allow) > 0 {
		t.Errorf("decided by %s, lead %+v", n.DeciderOf(policy.GateTool), n.Lead)
	}
	if len(n.Rules) != 1 || !n.Rules[0].Deny || n.Rules[0].Instance != "ada-2" || n.Rules[0].From != nil {
		t.Errorf("rules %+v", n.Rules)
	}
	if d := cmp.Diff([]record.HostGrant{{Host: "b.test", Deny: true}, {Host: "c.test", Deny: true, Instance: "ada-2"}}, n.Hosts); d != "" {
		t.Error(d)
	}
	for _, c := range [][3]bool{{false, false, false}, {true, false, true}, {false, true, true}, {true, true, true}} {
		n := record.PolicySet{Unattended: c[0]}.Narrowed([]record.PolicySet{{Unattended: c[1]}}, nil)
		if n.Unattended != c[2] {
			t.Errorf("nobody is there: %v and then %v is %v", c[0], c[1], n.Unattended)
		}
	}
	if n.Deadline != 9 || n.File != "f" || n.Path != "p" {
		t.Errorf("%+v", n)
	}
}
