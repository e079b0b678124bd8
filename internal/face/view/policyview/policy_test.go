package policyview_test

import (
	"testing"

	"waggle/internal/face/view/policyview"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/policy"
	"waggle/record"
)

func grants() []decide.GrantView {
	return []decide.GrantView{{Host: "example.com", Port: "443", Shown: "example.com:443", Effect: "allow", Scope: "ann", Expires: new(at(0)), From: "perm-1", By: "operator", Sandbox: record.HeldEnforced, Enforced: true},
		{Host: "x.org", Shown: "x.org:*", Effect: "deny", Scope: "team", Sandbox: record.HeldFilesOnly},
		{Host: "y.org", Shown: "y.org:*", Effect: "allow", Scope: "bob", By: "operator", Sandbox: record.HeldEnforced, Closed: []string{"deny WebFetch(domain:y.org)"}, Shut: true},
		{Host: "*.z.org", Shown: "*.z.org:*", Effect: "allow", Scope: "team", By: "team file", Sandbox: record.HeldEnforced, Enforced: true, Closed: []string{"a.z.org: ann: deny WebFetch(domain:a.z.org)"}}}
}

func policyMembers() []decide.PolicyMember {
	return []decide.PolicyMember{{Name: "ann", State: decide.PolicyApplied, Version: 2, Mode: "plan"}, {Name: "bob", State: decide.PolicyUnsupported}}
}

func policyView() *decide.PolicyView {
	return &decide.PolicyView{Team: "api", Version: 2, Mode: "default", Sandboxed: "allow", DeadlineS: 90, Hosts: grants(), Members: policyMembers(),
		Decide:  map[policy.Gate]policy.Decider{policy.GateTool: policy.DecideOperator, policy.GatePlan: policy.DecideTwo, policy.GateNetwork: policy.DecideRules},
		Rules:   []decide.RuleView{{Rule: "Bash(ls:*)", Effect: "allow", Scope: "ann", Expires: new(at(0)), From: "perm-1"}, {Rule: "Read", Effect: "deny", Scope: "team"}},
		Ceiling: &decide.CeilingView{File: "/c", SHA256: "ff", Mode: "plan", Deny: []string{}, Cut: []string{}}}
}

func TestPolicy(t *testing.T) {
	golden(t, "policy", policyView())
	golden(t, "policy_empty", &decide.PolicyView{Sandboxed: "ask"})
	samePage(t, "policy", policyview.PolicyPage(policyView(), now))
	samePage(t, "policy_empty", policyview.PolicyPage(&decide.PolicyView{Team: "api"}, now))
}

func TestMode(t *testing.T) {
	golden(t, "mode", policyview.Mode(policyView()))
	samePage(t, "mode", policyview.ModePage(policyView()))
}

func TestPolicyChange(t *testing.T) {
	c := &decide.PolicyChange{Team: "api", Version: 3, Changed: true, Members: policyMembers(), Keep: []string{"bob"}}
	golden(t, "policy_change", c)
	golden(t, "policy_change_none", nil)
	samePage(t, "policy_change", policyview.PolicyChangePage(c, "rule Bash"))
	samePage(t, "policy_change_none", policyview.PolicyChangePage(&decide.PolicyChange{Version: 3}, "rule Bash"))
}

func TestNet(t *testing.T) {
	ns := []decide.NetRequest{{Host: "example.com", Port: "443", Shown: "example.com:443", Member: "ann", Instance: "0123", IDs: []string{"sandbox-1", "sandbox-2"}, Handles: []string{"7KQF", "8MRG"}, Reason: "to fetch", Asked: operator.Past{Time: at(30)}, Expires: new(at(99)), Status: "open"},
		{Shown: "x.org:80", IDs: []string{"sandbox-3"}, Handles: []string{"9XYZ"}}}
	golden(t, "net_pending", map[string]any{"pending": ns})
	golden(t, "net_pending_empty", map[string]any{"pending": []decide.NetRequest(nil)})
	samePage(t, "net_pending", policyview.NetPendingPage(ns, now))
	golden(t, "grants", map[string]any{"hosts": grants()})
	golden(t, "grants_empty", map[string]any{"hosts": []decide.GrantView(nil)})
	samePage(t, "grants", policyview.GrantPage(grants(), now))
	samePage(t, "grants", policyview.GrantPage(grants(), now))
	n := &decide.NetDecided{Results: []decide.Decided{{ID: "sandbox-1", Decision: "allow", By: "operator", At: at(2), Changed: true}}, Grants: grants(),
		Policy: &decide.PolicyChange{Team: "api", Version: 3, Changed: true, Members: policyMembers(), Keep: []string{}}}
	golden(t, "net_decided", n)
	golden(t, "net_decided_empty", &decide.NetDecided{})
	samePage(t, "net_decided", policyview.NetDecidedPage(n, now))
}
