package control_test

import (
	"encoding/json"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"waggle"
	"waggle/control"
	"waggle/policy"
)

var (
	ceilingRules = []string{"Bash", "Bash(go test:*)", "Bash(go test ./...)", "Bash(git:*)", "Bash(git push:*)", "Edit(src/**)", "Write",
		"Read(/etc/**)", "WebFetch(domain:example.com)", "WebFetch"}
	ceilingCalls = []policy.Call{
		{Tool: "Bash", Input: []byte(`{"command":"go test ./..."}`), Cwd: "/w"},
		{Tool: "Bash", Input: []byte(`{"command":"git push origin"}`), Cwd: "/w"},
		{Tool: "Bash", Input: []byte(`{"command":"git status && go test ./..."}`), Cwd: "/w"},
		{Tool: "Write", Input: []byte(`{"file_path":"src/a.go","content":""}`), Cwd: "/w"},
		{Tool: "Read", Input: []byte(`{"file_path":"/etc/hosts"}`), Cwd: "/w"},
		{Tool: "WebFetch", Input: []byte(`{"url":"https://example.com/"}`), Cwd: "/w"},
	}
)

func someRules(t *rapid.T, label string) []policy.Rule {
	return policy.MustRules(rapid.SliceOfNDistinct(rapid.SampledFrom(ceilingRules), 0, 4, rapid.ID[string]).Draw(t, label)...)
}

func someMode(t *rapid.T, label string, more ...policy.Mode) policy.Mode {
	for _, m := range policy.Modes() {
		more = append(more, m.Mode)
	}
	return rapid.SampledFrom(more).Draw(t, label)
}

// TestCeilingBounds: whatever a policy, a mode and learned rules say, no verdict is freer than the
// ceiling, nor freer than without it.
func TestCeilingBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &control.Ceiling{Mode: someMode(t, "widest", ""), Deny: someRules(t, "ceiling deny")}
		if rapid.Bool().Draw(t, "limits rules") {
			c.Allow = append([]policy.Rule{}, someRules(t, "ceiling allow")...)
		}
		open := control.PolicySet{Policy: policy.Policy{Mode: someMode(t, "mode"), Allow: someRules(t, "allow"), Deny: someRules(t, "deny")}}
		for _, r := range someRules(t, "learned") {
			open.Rules = append(open.Rules, control.Scoped{Rule: r, Instance: "i"})
		}
		bound := open
		bound.Ceiling = c
		call, mode := rapid.SampledFrom(ceilingCalls).Draw(t, "call"), someMode(t, "own mode")
		ask := control.Ask{Tool: call.Tool, Input: string(call.Input), Cwd: call.Cwd}
		got := bound.Judge("i", mode, waggle.KindPermissionRequest, ask, start)
		if was := open.Judge("i", mode, waggle.KindPermissionRequest, ask, start); !got.Decision.NotFreerThan(was.Decision) {
			t.Fatalf("%+v, and without a ceiling %+v", got, was)
		}
		all := policy.Policy{Mode: policy.ModeBypassPermissions, Deny: c.Deny}
		if v := all.Judge(call); !got.Decision.NotFreerThan(v.Decision) {
			t.Fatalf("%+v, and the ceiling's deny rules say %+v", got, v)
		}
		if c.Allow != nil {
			if v := (policy.Policy{Mode: c.Widest(), Allow: c.Allow, Deny: c.Deny}).Judge(call); !got.Decision.NotFreerThan(v.Decision) {
				t.Fatalf("%+v, and the ceiling says %+v", got, v)
			}
		}
		if len(bound.Cut()) == 0 {
			p, q := open.For("i", start), bound.For("i", start)
			for _, r := range p.Allow {
				if !ruleIn(r, q.Allow) {
					t.Fatalf("%s is gone, and nothing says so", r)
				}
			}
		}
		raw, err := json.Marshal(bound)
		if err != nil {
			t.Fatal(err)
		}
		var again control.PolicySet
		if err := json.Unmarshal(raw, &again); err != nil || !again.Ceiling.Same(c) {
			t.Fatalf("%v: %+v of %s", err, again.Ceiling, raw)
		}
	})
}

func ruleIn(r policy.Rule, rs []policy.Rule) bool {
	for _, x := range rs {
		if x == r {
			return true
		}
	}
	return false
}

// TestCeilingHoldsForMembers: the ceiling limits a mode in the journal and a mode that anyone sets.
func TestCeilingHoldsForMembers(t *testing.T) {
	top := &control.Ceiling{File: "/c.yaml", SHA256: "00", Mode: policy.ModeAcceptEdits, Deny: policy.MustRules("Bash(rm:*)")}
	w, m := working(t, control.PolicySet{Policy: policy.Policy{Mode: policy.ModeBypassPermissions}, Ceiling: top,
		Lead: &policy.Policy{Mode: policy.ModeBypassPermissions}}, false)
	if got := m.mode(); got != policy.ModeAcceptEdits {
		t.Errorf("a team on bypassPermissions made it %s", got)
	}
	mate, mint := w.l.Members[0], control.Mint{Now: start, MsgID: "00000000-0000-4000-8000-000000000001", Nonce: "x"}
	for by, wr := range map[policy.Role]bool{policy.RoleOperator: true, policy.RoleLeader: false} {
		hand := w.lead()
		if wr {
			hand = operator
		}
		var over *control.CeilingError
		if ds, err := w.l.SetMode(mate, policy.ModeBypassPermissions, by, hand, mint); !errors.As(err, &over) || len(ds) > 0 {
			t.Errorf("%s: %d drafts, %v", by, len(ds), err)
		}
	}
	// A record that exceeds the ceiling has no effect.
	w.append(operator, control.RecPolicy, control.PolicySet{Policy: policy.Policy{Version: w.l.Version() + 1, Mode: policy.ModeBypassPermissions}, Ceiling: top})
	w.round()
	if got := m.mode(); got != policy.ModeAcceptEdits {
		t.Errorf("a wider record made it %s", got)
	}
	if d := m.w.Effective(w.l, start).Judge(policy.Call{Tool: "Bash", Input: []byte(`{"command":"rm x"}`), Cwd: "/w"}); d.Decision != policy.Deny {
		t.Errorf("rm: %+v", d)
	}
	// A later, narrower ceiling keeps the existing rules and accepts no new one beyond it.
	set := w.l.Policy
	set.Ceiling = &control.Ceiling{File: "/c.yaml", SHA256: "01", Mode: policy.ModeDefault}
	if _, err := w.l.SetPolicy(set, operator, mint); err != nil {
		t.Errorf("adopting it: %v", err)
	}
	set.Policy.Mode = policy.ModeAcceptEdits
	var over *control.CeilingError
	if _, err := w.l.SetPolicy(set, operator, mint); !errors.As(err, &over) {
		t.Errorf("a new mode beyond it: %v", err)
	}
}
