package control_test

import (
	"errors"
	"path/filepath"
	"testing"

	"waggle"
	"waggle/control"
	"waggle/journal"
	"waggle/policy"
)

func ruleOf(t *testing.T, s string) policy.Rule {
	t.Helper()
	r, err := policy.ParseRule(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestNarrowed: a policy after a break allows nothing by a rule, keeps every deny rule from before
// the break and after it, and is below every mode that there was.
func TestNarrowed(t *testing.T) {
	set := control.PolicySet{Policy: policy.Policy{Version: 3, Mode: policy.ModeBypassPermissions, Allow: []policy.Rule{ruleOf(t, "Bash")}, Deny: []policy.Rule{ruleOf(t, "Bash(rm:*)")}},
		Decide: control.Deciders{policy.GateTool: policy.DecideLeader}, Lead: &policy.Policy{Allow: []policy.Rule{ruleOf(t, "Bash")}}, Deadline: 9, File: "f", Path: "p",
		Rules: []control.Scoped{{Rule: ruleOf(t, "Bash(go:*)")}, {Rule: ruleOf(t, "Bash(dd:*)"), Deny: true, Instance: "ada-1"}, {Rule: ruleOf(t, "Bash(nc:*)"), Deny: true, Instance: "gone"}},
		Hosts: []control.HostGrant{{Host: "a.test"}, {Host: "b.test", Deny: true}}}
	after := control.PolicySet{Policy: policy.Policy{Version: 7, Mode: policy.ModePlan, Deny: []policy.Rule{ruleOf(t, "Bash(curl:*)"), ruleOf(t, "Bash(rm:*)")}}}
	n := set.Narrowed([]control.PolicySet{after}, map[control.Instance]control.Instance{"": "", "ada-1": "ada-2"})
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

// TestAcknowledgedBreak: a leader's journal whose newest record contradicts the others, and may not
// be set aside, continues after the acknowledgement; only the operator's counts.
func TestAcknowledgedBreak(t *testing.T) {
	d := opened(t)
	raw(t, d, journal.Leader, journal.Draft{Kind: control.RecPolicy, Must: true, Body: control.PolicySet{Policy: policy.Policy{Version: 4}}})
	raw(t, d, journal.Leader, journal.Draft{Kind: control.RecPolicy, Must: true, Body: control.PolicySet{Policy: policy.Policy{Version: 2}}}, joined("eve"))
	b, err := d.FindBreak(journal.Leader, control.NewLeader(nil), journal.Options{})
	if err != nil || b == nil || b.Prefix != 4 || b.Records != 2 {
		t.Fatalf("break %+v, %v", b, err)
	}
	ack := journal.Draft{Kind: control.RecAcknowledged, Must: true, Body: control.Acknowledged{Break: &control.KnownBreak{Journal: journal.Leader, Seq: uint64(b.Err.Seq)}}}
	l := control.NewLeader(nil)
	err = d.Continue(t.Context(), b, filepath.Join(t.TempDir(), "kept"), l, journal.Options{}, operator, func() ([]journal.Draft, error) { return []journal.Draft{ack}, nil })
	if err != nil || l.Continued != 5 || len(l.Members) != 2 || l.Policy.Policy.Version != 4 {
		t.Fatalf("continued at %d with %d members and policy %d, %v", l.Continued, len(l.Members), l.Policy.Policy.Version, err)
	}
	ack.Body = control.Acknowledged{Break: &control.KnownBreak{Journal: "ada-1"}}
	if _, err := d.Open(journal.Leader, l, journal.Options{}); err == nil {
		t.Fatal("a fold was used twice") // it is one for a fresh journal
	}
	l = control.NewLeader(nil)
	j, err := d.Open(journal.Leader, l, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []journal.Writer{{Instance: "ada-1", Epoch: 1, PID: 1}, operator} {
		if m, _ := l.Member("ada"); m.Broken {
			t.Fatal("a member acknowledged the break of its own journal")
		}
		if _, err := j.Append(t.Context(), w, func() ([]journal.Draft, error) { return []journal.Draft{ack}, nil }); err != nil {
			t.Fatal(err)
		}
	}
	if m, _ := l.Member(waggle.MemberName("ada")); !m.Broken {
		t.Error("the operator's acknowledgement is not on record")
	}
	if b, err := d.FindBreak(journal.Leader, control.NewLeader(nil), journal.Options{}); b != nil || errors.Join(err) != nil {
		t.Errorf("%+v, %v", b, err)
	}
}
