package record_test

import (
	"testing"
	"waggle/policy"
	"waggle/record"
)

// TestNarrowed: a policy after a break allows nothing by a rule, keeps every deny rule from before
// the break and after it, and is below every mode that there was.
func TestNarrowed(t *testing.T) {
	set := record.PolicySet{Policy: policy.Policy{Version: 3, Mode: policy.ModeBypassPermissions, Allow: []policy.Rule{policy.MustRules("Bash")[0]}, Deny: []policy.Rule{policy.MustRules("Bash(rm:*)")[0]}},
		Decide: record.Deciders{policy.GateTool: policy.DecideLeader}, Lead: &policy.Policy{Allow: []policy.Rule{policy.MustRules("Bash")[0]}}, Deadline: 9, File: "f", Path: "p",
		Rules: []record.Scoped{{Rule: policy.MustRules("Bash(go:*)")[0]}, {Rule: policy.MustRules("Bash(dd:*)")[0], Deny: true, Instance: "ada-1"}, {Rule: policy.MustRules("Bash(nc:*)")[0], Deny: true, Instance: "gone"}},
		Hosts: []record.HostGrant{{Host: "a.test"}, {Host: "b.test", Deny: true}}}
	after := record.PolicySet{Policy: policy.Policy{Version: 7, Mode: policy.ModePlan, Deny: []policy.Rule{policy.MustRules("Bash(curl:*)")[0], policy.MustRules("Bash(rm:*)")[0]}}}
	n := set.Narrowed([]record.PolicySet{after}, map[record.Instance]record.Instance{"": "", "ada-1": "ada-2"})
	if n.Policy.Version != 8 || n.Policy.Mode != policy.ModePlan || len(n.Policy.Allow) > 0 || len(n.Policy.Deny) != 2 {
		t.Errorf("policy %+v", n.Policy)
	}
	if n.DeciderOf(policy.GateTool) != policy.DecideOperator || n.Lead == nil || len(n.Lead.Allow) > 0 {
		t.Errorf("decided by %s, lead %+v", n.DeciderOf(policy.GateTool), n.Lead)
	}
	if len(n.Rules) != 1 || !n.Rules[0].Deny || n.Rules[0].Instance != "ada-2" || len(n.Hosts) != 1 || !n.Hosts[0].Deny {
		t.Errorf("rules %v, hosts %v", n.Rules, n.Hosts)
	}
	if n.Deadline != 9 || n.File != "f" || n.Path != "p" {
		t.Errorf("%+v", n)
	}
}
