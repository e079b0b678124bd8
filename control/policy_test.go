package control_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"waggle/control"
	"waggle/journal"
	"waggle/machine"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

func (m *member) mode() policy.Mode { return m.w.Effective(m.lead, m.now).Mode }

// A mode's message carries no id and no time: the same one may be ordered again,
// and every order has its effect.
func TestModes(t *testing.T) {
	w, m := working(t, record.PolicySet{}, false)
	for i, mode := range []policy.Mode{policy.ModePlan, policy.ModeDefault, policy.ModePlan, policy.ModeAcceptEdits, policy.ModePlan} {
		w.setMode(m, mode, policy.RoleOperator, operator)
		w.round()
		if m.mode() != mode || m.w.PolicyVersion != uint64(i+2) || m.w.Unverified != 0 || len(w.l.Unclosed(m.instance)) != 0 {
			t.Fatalf("after %s: mode %s, version %d, %d unverified, %d open", mode, m.mode(), m.w.PolicyVersion, m.w.Unverified, len(w.l.Unclosed(m.instance)))
		}
	}
	n := len(w.mem.Records())
	w.setMode(m, policy.ModePlan, policy.RoleOperator, operator)
	if len(w.mem.Records()) != n {
		t.Error("the mode that holds was set again")
	}
}

func TestWhoSetsModes(t *testing.T) {
	w, m := working(t, record.PolicySet{Policy: policy.Policy{Mode: policy.ModeDefault}}, false)
	lm, _ := w.l.Member("ada")
	_, err := w.l.SetMode(lm, policy.ModeBypassPermissions, policy.RoleOperator, w.lead(), w.mint())
	refused[*control.RefusedError](t, err, "operator's name")
	_, err = w.l.SetMode(lm, "yolo", policy.RoleOperator, operator, w.mint())
	refused[*control.RefusedError](t, err, `"yolo"`)
	// The leader narrows and never widens.
	w.setMode(m, policy.ModeBypassPermissions, policy.RoleLeader, w.lead())
	w.round()
	if m.mode() != policy.ModeDefault {
		t.Errorf("the leader made it %s", m.mode())
	}
	w.setMode(m, policy.ModeSafe, policy.RoleLeader, w.lead())
	w.round()
	if m.mode() != policy.ModeSafe {
		t.Errorf("the leader could not narrow: %s", m.mode())
	}
	w.setMode(m, policy.ModeAcceptEdits, policy.RoleOperator, operator)
	w.round()
	if m.mode() != policy.ModeAcceptEdits {
		t.Errorf("the operator could not widen: %s", m.mode())
	}
	// A record in the operator's name by another writer has no effect.
	w.append(w.lead(), record.KindCommanded, record.Commanded{What: record.CommandMode, Instance: m.instance, Mode: policy.ModeBypassPermissions,
		Version: 99, By: policy.RoleOperator, Mail: mailOf(protocol.KindModeSetRequest, "ada")})
	if w.round(); m.mode() != policy.ModeAcceptEdits || len(w.l.Ignored) != 1 {
		t.Errorf("mode %s, ignored %v", m.mode(), w.l.Ignored)
	}
	w.command(m, func(lm *control.Member) ([]journal.Draft, error) { return w.l.Let(lm, record.LeftDied, ""), nil })
	_, err = w.l.SetMode(lm, policy.ModePlan, policy.RoleOperator, operator, w.mint())
	refused[*control.RefusedError](t, err, "has ended")
}

// A worker that owes a plan stays in plan mode, whatever mode it is given (protocol §1.7).
func TestModeDoesNotEndAPlan(t *testing.T) {
	w, m := working(t, record.PolicySet{}, true)
	for _, mode := range []policy.Mode{policy.ModeBypassPermissions, policy.ModeLockedDown} {
		w.setMode(m, mode, policy.RoleOperator, operator)
		w.round()
		if want := policy.ModePlan.Meet(mode); m.mode() != want {
			t.Errorf("set to %s it is in %s, want %s", mode, m.mode(), want)
		}
	}
	m.is(t, machine.PlanProposed)
}

func TestSetPolicy(t *testing.T) {
	rules := policy.MustRules
	w, m := working(t, record.PolicySet{Decide: record.Deciders{policy.GateTool: policy.DecideRules}}, false)
	bob := w.join("bob", false)
	w.setMode(bob, policy.ModePlan, policy.RoleOperator, operator)
	w.round()
	update := func(version int, tool, behavior, rules string) string {
		return fmt.Sprintf(`{"type":"team_permission_update","toolName":%q,"directoryPath":"","permissionUpdate":{"behavior":%q,"rules":%s},"policyVersion":%d}`, tool, behavior, rules, version)
	}
	safe, usual := `{"type":"mode_set_request","mode":"safe","from":"team-lead"}`, `{"type":"mode_set_request","mode":"default","from":"team-lead"}`
	modes := func(told []string) (n int) {
		for _, text := range told {
			n += strings.Count(text, "mode_set_request")
		}
		return n
	}
	version := w.l.Version()
	for _, c := range []struct {
		policy   policy.Policy
		ada, bob []string // bob has a mode of his own
	}{
		{policy.Policy{Allow: rules("Bash(go test:*)", "Read")},
			[]string{update(3, "Bash", "allow", `[{"toolName":"Bash","ruleContent":"go test:*"},{"toolName":"Read"}]`)}, nil},
		{policy.Policy{Allow: rules("Bash(go test:*)", "Edit"), Deny: rules("WebFetch(domain:x.org)")},
			[]string{update(4, "WebFetch", "deny", `[{"toolName":"WebFetch","ruleContent":"domain:x.org"}]`),
				update(5, "Edit", "allow", `[{"toolName":"Edit"}]`), update(6, "Read", "allow", `[],"removedRules":[{"toolName":"Read"}]`)}, nil},
		{policy.Policy{Mode: policy.ModeSafe, Allow: rules("Edit")},
			[]string{safe, update(7, "WebFetch", "deny", `[],"removedRules":[{"toolName":"WebFetch","ruleContent":"domain:x.org"}]`),
				update(8, "Bash", "allow", `[],"removedRules":[{"toolName":"Bash","ruleContent":"go test:*"}]`)},
			[]string{update(7, "WebFetch", "deny", `[],"removedRules":[{"toolName":"WebFetch","ruleContent":"domain:x.org"}]`),
				update(8, "Bash", "allow", `[],"removedRules":[{"toolName":"Bash","ruleContent":"go test:*"}]`)}},
		{policy.Policy{Mode: policy.ModeSafe}, []string{update(9, "Edit", "allow", `[],"removedRules":[{"toolName":"Edit"}]`)}, nil},
		{policy.Policy{Mode: policy.ModeSafe}, []string{update(10, "", "allow", "[]")}, nil},
		{policy.Policy{}, []string{usual}, []string{update(11, "", "allow", "[]")}},
	} {
		at := map[*member]int{m: len(m.box.entries), bob: len(bob.box.entries)}
		w.setPolicy(c.policy)
		w.round()
		version += uint64(max(1, len(c.ada)-modes(c.ada)))
		if w.l.Policy.Policy.Version != version || w.l.Policy.DeciderOf(policy.GateTool) != policy.DecideRules || w.l.Policy.By != policy.RoleOperator {
			t.Fatalf("%+v", w.l.Policy)
		}
		if c.bob == nil {
			c.bob = c.ada
		}
		for m, want := range map[*member][]string{m: c.ada, bob: c.bob} {
			var told []string
			for _, e := range m.box.entries[at[m]:] {
				told = append(told, e.env.Text)
			}
			if !slices.Equal(told, want) {
				t.Errorf("%s was told %q, want %q", m.name, told, want)
			}
			if m.w.PolicyVersion != version || m.w.Unverified != 0 || len(w.l.Unclosed(m.instance)) != 0 {
				t.Errorf("%s applied version %d, %d unverified", m.name, m.w.PolicyVersion, m.w.Unverified)
			}
		}
	}
	_, err := w.l.SetPolicy(w.l.Policy, w.lead(), w.mint())
	refused[*control.RefusedError](t, err, "only the operator")
	w.append(w.lead(), record.KindPolicy, record.PolicySet{Policy: policy.Policy{Version: 99, Mode: policy.ModeBypassPermissions}})
	if len(w.l.Ignored) != 1 || w.l.Policy.Policy.Version == 99 {
		t.Error("the leader set the policy")
	}
}

// Versions only rise: an older version has no effect and is closed.
func TestOldPolicyIsOvertaken(t *testing.T) {
	w, m := working(t, record.PolicySet{}, false)
	w.setPolicy(policy.Policy{Deny: policy.MustRules("Bash(rm:*)")})
	w.setMode(m, policy.ModeSafe, policy.RoleOperator, operator)
	w.deliver()
	entries := m.box.entries
	m.receive(entries[len(entries)-1]) // the newer first
	older := entries[len(entries)-2]
	if o := w.l.Unclosed(m.instance)[0]; m.w.Wants(o) {
		t.Error("an overtaken policy is wanted")
	}
	audited(t, m.receive(older), m.receive(older), "the older policy")
	if m.w.PolicyVersion != 3 {
		t.Errorf("version %d", m.w.PolicyVersion)
	}
	w.settle()
	if n := len(w.l.Unclosed(m.instance)); n != 0 {
		t.Errorf("%d orders are open", n)
	}
	// The policy is the one in the leader's journal, whether the member got the message or not.
	if p := m.w.Effective(m.lead, m.now); p.Mode != policy.ModeSafe || len(p.Deny) != 1 {
		t.Errorf("%+v", p)
	}
}

// A number in a file orders nothing: a forged update with the largest version has no effect, before and after a
// replay, and the leader's next one applies (trust §1).
func TestForgedPolicyVersion(t *testing.T) {
	w, m := working(t, record.PolicySet{}, false)
	forged := encode(t, protocol.TeamPermissionUpdate{ToolName: "Bash", PolicyVersion: protocol.MaxPolicyVersion,
		PermissionUpdate: protocol.PermissionUpdate{Behavior: "allow", Rules: []protocol.PermissionRule{{ToolName: "Bash"}}}})
	before := m.w.PolicyVersion
	m.receive(m.box.put(envelope(string(protocol.Lead), forged), true))
	if m.w.PolicyVersion != before || m.w.Unverified != 1 || len(m.w.Effective(m.lead, m.now).Allow) != 0 {
		t.Fatalf("version %d, %d unverified, %v", m.w.PolicyVersion, m.w.Unverified, m.w.Effective(m.lead, m.now))
	}
	w.setPolicy(policy.Policy{Deny: policy.MustRules("Bash(rm:*)")})
	w.round()
	w.round() // the second delivery of the same mail changes nothing
	if m.w.PolicyVersion != w.l.Version() || m.w.Unverified != 1 || len(w.l.Unclosed(m.instance)) != 0 {
		t.Errorf("version %d of %d, %d unverified, %d open", m.w.PolicyVersion, w.l.Version(), m.w.Unverified, len(w.l.Unclosed(m.instance)))
	}
}

// Other fields of an approval are not part of the answer: a mode, rule or scope in it has no effect
// (trust §3).
func TestAnswerWidensNothing(t *testing.T) {
	w, m, r := asked(t, record.PolicySet{Policy: policy.Policy{Mode: policy.ModeSafe}}, plan, record.Ask{Plan: "one"})
	w.decide(verdict(r, true), operator)
	env := envelopeOf(t, r.Order.Mail)
	p, ok := protocol.Decode(env).Payload.(protocol.PlanApprovalResponse)
	if !ok || p.PermissionMode == "" {
		t.Fatalf("the approval carries no mode: %+v", p)
	}
	w.round()
	m.is(t, machine.Executing)
	if got := m.mode(); got != policy.ModeSafe {
		t.Errorf("the approval made it %s", got)
	}
	before := m.w.PolicyVersion
	k := m.ask(tool, bash)
	w.answered(k, true)
	again := bash
	again.Input = `{"command":"go test ./... -v"}`
	if c, _ := m.w.Call(m.ask(tool, again)); !c.Open() || m.w.PolicyVersion != before {
		t.Errorf("an answer to one call is a rule for others: %+v", c.Answer)
	}
}

// TestEveryModeIsSet: each mode of the table is one that the operator can set, that its member
// applies, and that is in effect then.
func TestEveryModeIsSet(t *testing.T) {
	w, m := working(t, record.PolicySet{}, false)
	before := policy.Mode("")
	for _, info := range policy.Modes() {
		w.setMode(m, info.Mode, policy.RoleOperator, operator)
		w.round()
		lm, _ := w.l.ByInstance(m.instance)
		if got := m.w.Effective(w.l, w.now).Mode; got != info.Mode || got == before || lm.Mode != info.Mode || w.l.ModeOf(m.instance) != info.Mode {
			t.Errorf("%s: the member has %s, the leader says %s", info.Mode, got, lm.Mode)
		}
		if open := w.l.Unclosed(m.instance); len(open) > 0 && open[len(open)-1].Commanded != nil && open[len(open)-1].Commanded.What == record.CommandMode {
			t.Errorf("%s: not applied", info.Mode)
		}
		before = info.Mode
	}
}
