package control_test

import (
	"errors"
	"testing"

	"waggle/policy"
	"waggle/record"
)

// TestCeilingHoldsForMembers: the ceiling limits a mode in the journal and a mode that anyone sets.
func TestCeilingHoldsForMembers(t *testing.T) {
	top := &record.Ceiling{File: "/c.yaml", SHA256: "00", Mode: policy.ModeAcceptEdits, Deny: policy.MustRules("Bash(rm:*)")}
	w, m := working(t, record.PolicySet{Policy: policy.Policy{Mode: policy.ModeBypassPermissions}, Ceiling: top,
		Lead: &policy.Policy{Mode: policy.ModeBypassPermissions}}, false)
	if got := m.mode(); got != policy.ModeAcceptEdits {
		t.Errorf("a team on bypassPermissions made it %s", got)
	}
	mate, mint := w.l.Members[0], record.Mint{Now: start, MsgID: "00000000-0000-4000-8000-000000000001", Nonce: "x"}
	for by, wr := range map[policy.Role]bool{policy.RoleOperator: true, policy.RoleLeader: false} {
		hand := w.lead()
		if wr {
			hand = operator
		}
		var over *record.CeilingError
		if ds, err := w.l.SetMode(mate, policy.ModeBypassPermissions, by, hand, mint); !errors.As(err, &over) || len(ds) > 0 {
			t.Errorf("%s: %d drafts, %v", by, len(ds), err)
		}
	}
	// A record that exceeds the ceiling has no effect.
	w.append(operator, record.KindPolicy, record.PolicySet{Policy: policy.Policy{Version: w.l.Version() + 1, Mode: policy.ModeBypassPermissions}, Ceiling: top})
	w.round()
	if got := m.mode(); got != policy.ModeAcceptEdits {
		t.Errorf("a wider record made it %s", got)
	}
	if d := m.w.Effective(w.l, start).Judge(policy.Call{Tool: "Bash", Input: []byte(`{"command":"rm x"}`), Cwd: "/w"}); d.Decision != policy.Deny {
		t.Errorf("rm: %+v", d)
	}
	// A later, narrower ceiling keeps the existing rules and accepts no new one beyond it.
	set := w.l.Policy
	set.Ceiling = &record.Ceiling{File: "/c.yaml", SHA256: "01", Mode: policy.ModeDefault}
	if _, err := w.l.SetPolicy(set, operator, mint); err != nil {
		t.Errorf("adopting it: %v", err)
	}
	set.Policy.Mode = policy.ModeAcceptEdits
	var over *record.CeilingError
	if _, err := w.l.SetPolicy(set, operator, mint); !errors.As(err, &over) {
		t.Errorf("a new mode beyond it: %v", err)
	}
}
