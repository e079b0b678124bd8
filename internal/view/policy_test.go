package view_test

import (
	"testing"
	"time"

	"waggle/internal/view"
	"waggle/operator/decide"
	"waggle/policy"
)

func grants() []decide.GrantView {
	return []decide.GrantView{{Host: "example.com", Port: "443", Shown: "example.com:443", Effect: "allow", Scope: "ann", Expires: at(0), From: "perm-1"},
		{Host: "x.org", Shown: "x.org:*", Effect: "deny", Scope: "team"}}
}

func policyMembers() []decide.PolicyMember {
	return []decide.PolicyMember{{Name: "ann", State: decide.PolicyApplied, Version: 2, Mode: "plan"}, {Name: "bob", State: decide.PolicyUnsupported}}
}

func policyView() *decide.PolicyView {
	return &decide.PolicyView{Team: "api", Version: 2, Mode: "default", Deadline: 90 * time.Second, Hosts: grants(), Members: policyMembers(),
		Decide:  map[policy.Gate]policy.Decider{policy.GateTool: policy.DecideOperator, policy.GatePlan: policy.DecideTwo, policy.GateNetwork: policy.DecideRules},
		Rules:   []decide.RuleView{{Rule: "Bash(ls:*)", Effect: "allow", Scope: "ann", Expires: at(0), From: "perm-1"}, {Rule: "Read", Effect: "deny", Scope: "team"}},
		Ceiling: &decide.CeilingView{File: "/c", SHA256: "ff", Mode: "plan", Deny: []string{}, Cut: []string{}}}
}

func TestPolicy(t *testing.T) {
	golden(t, "policy", view.Policy(policyView()))
	golden(t, "policy_empty", view.Policy(&decide.PolicyView{}))
	page(t, "policy", view.PolicyPage(policyView()))
	page(t, "policy_empty", view.PolicyPage(&decide.PolicyView{Team: "api"}))
}

func TestMode(t *testing.T) {
	golden(t, "mode", view.Mode(policyView()))
	page(t, "mode", view.ModePage(policyView()))
}

func TestPolicyChange(t *testing.T) {
	c := &decide.PolicyChange{Team: "api", Version: 3, Changed: true, Members: policyMembers(), Keep: []string{"bob"}}
	golden(t, "policy_change", view.PolicyChange(c))
	golden(t, "policy_change_none", view.PolicyChange(nil))
	page(t, "policy_change", view.PolicyChangePage(c, "rule Bash"))
	page(t, "policy_change_none", view.PolicyChangePage(&decide.PolicyChange{Version: 3}, "rule Bash"))
}

func TestNet(t *testing.T) {
	ns := []decide.NetQuestion{{Host: "example.com", Port: "443", Shown: "example.com:443", Member: "ann", Instance: "0123", IDs: []string{"sandbox-1", "sandbox-2"}, Reason: "to fetch", Asked: at(30), Expires: at(99), Status: "open"},
		{Shown: "x.org:80", IDs: []string{"sandbox-3"}}}
	golden(t, "net_pending", view.NetPending(ns, now))
	golden(t, "net_pending_empty", view.NetPending(nil, now))
	page(t, "net_pending", view.NetPendingPage(ns, now))
	golden(t, "grants", view.Grants(grants()))
	golden(t, "grants_empty", view.Grants(nil))
	page(t, "grants", view.GrantPage(grants()))
	n := &decide.NetDecided{Results: []decide.Decided{{ID: "sandbox-1", Decision: "allow", By: "operator", At: at(2), Changed: true}}, Grants: grants(),
		Policy: &decide.PolicyChange{Team: "api", Version: 3, Changed: true, Members: policyMembers(), Keep: []string{}}}
	golden(t, "net_decided", view.NetDecided(n))
	golden(t, "net_decided_empty", view.NetDecided(&decide.NetDecided{}))
	page(t, "net_decided", view.NetDecidedPage(n))
}
