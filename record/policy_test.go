package record_test

import (
	"slices"
	"testing"
	"time"

	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// TestModeOf: the operator's mode for a member holds; the lead's is no wider than the team's, or than
// the lead's own while that is older; without one it is the team's.
func TestModeOf(t *testing.T) {
	lead := &policy.Policy{Mode: policy.ModeAcceptEdits}
	for name, c := range map[string]struct {
		lead    *policy.Policy
		own     policy.Mode
		by      policy.Role
		version uint64
		want    policy.Mode
	}{
		"none of its own":        {want: policy.ModeDefault},
		"the operator's, wider":  {own: policy.ModeBypassPermissions, by: policy.RoleOperator, want: policy.ModeBypassPermissions},
		"the lead's, wider":      {own: policy.ModeBypassPermissions, by: policy.RoleLeader, version: 9, want: policy.ModeDefault},
		"the lead's, narrower":   {own: policy.ModePlan, by: policy.RoleLeader, want: policy.ModePlan},
		"within the lead's own":  {lead: lead, own: policy.ModeBypassPermissions, by: policy.RoleLeader, version: 6, want: policy.ModeAcceptEdits},
		"before the newest team": {lead: lead, own: policy.ModeBypassPermissions, by: policy.RoleLeader, version: 5, want: policy.ModeDefault},
	} {
		p := record.PolicySet{Lead: c.lead}
		p.Policy.Mode, p.Policy.Version = policy.ModeDefault, 5
		if got := p.ModeOf(c.own, c.by, c.version); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestOfLead: the lead's own policy takes the place of the team's, under its version and with its deny
// rules.
func TestOfLead(t *testing.T) {
	read, write := policy.Rule{Tool: "Read"}, policy.Rule{Tool: "Write"}
	p := record.PolicySet{Policy: policy.Policy{Version: 3, Deny: []policy.Rule{read}}}
	if got := p.OfLead(); got.Policy.Version != 3 || !slices.Equal(got.Policy.Deny, p.Policy.Deny) {
		t.Errorf("without one of its own: %+v", got.Policy)
	}
	p.Lead = &policy.Policy{Mode: policy.ModePlan, Deny: []policy.Rule{write}}
	if got := p.OfLead().Policy; got.Version != 3 || got.Mode != policy.ModePlan || !slices.Equal(got.Deny, []policy.Rule{write, read}) {
		t.Errorf("%+v", got)
	}
	if n := len(p.Judges("i", time.Now())); n != 3 {
		t.Errorf("%d policies may judge, want the member's, the team's and the lead's", n)
	}
}

// TestPruned: rules and answers end with their time and with their member, and the others stay; the set
// that they come from is not changed.
func TestPruned(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	over, later := now.Add(-time.Second), now.Add(time.Second)
	p := record.PolicySet{
		Rules: []record.Scoped{{Until: &over}, {Until: &later}, {Instance: "gone"}, {Instance: "i"}},
		Hosts: []record.HostGrant{{Host: "a", Until: &over}, {Host: "b"}, {Host: "c", Instance: "gone"}},
		Spent: []record.Key{{Instance: "gone"}, {Instance: "i"}},
	}
	got := p.Pruned(func(i record.Instance) bool { return i == "gone" }, now)
	if len(got.Rules) != 2 || got.Rules[0].Until != &later || got.Rules[1].Instance != "i" || len(got.Hosts) != 1 || got.Hosts[0].Host != "b" || len(got.Spent) != 1 {
		t.Errorf("%+v", got)
	}
	if len(p.Rules) != 4 || p.Rules[1].Until != &later || len(p.Spent) != 2 || p.Spent[0].Instance != "gone" {
		t.Errorf("the set was changed: %+v", p)
	}
}

// TestMailFits: a decision holds the answer to its member, and none to a question.
func TestMailFits(t *testing.T) {
	mail := &record.Mail{To: "ann", Kind: protocol.KindPermissionResponse}
	of := func(k protocol.Kind, m *record.Mail) record.Decided {
		return record.Decided{Key: record.Key{Kind: k}, Mail: m}
	}
	for name, c := range map[string]struct {
		d    record.Decided
		want bool
	}{
		"its answer":         {of(protocol.KindPermissionRequest, mail), true},
		"none":               {of(protocol.KindPermissionRequest, nil), false},
		"of another kind":    {of(protocol.KindPlanApprovalRequest, mail), false},
		"to another":         {of(protocol.KindPermissionRequest, &record.Mail{To: "bob", Kind: mail.Kind}), false},
		"a question":         {of(record.KindQuestion, nil), true},
		"a question, mailed": {of(record.KindQuestion, mail), false},
	} {
		if c.d.MailFits("ann") != c.want {
			t.Errorf("%s: %v", name, !c.want)
		}
	}
}
