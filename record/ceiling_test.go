package record_test

import (
	"encoding/json"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"waggle/internal/test/testenv"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
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
		c := &record.Ceiling{Mode: someMode(t, "widest", ""), Deny: someRules(t, "ceiling deny")}
		if rapid.Bool().Draw(t, "limits rules") {
			c.Allow = append([]policy.Rule{}, someRules(t, "ceiling allow")...)
		}
		open := record.PolicySet{Policy: policy.Policy{Mode: someMode(t, "mode"), Allow: someRules(t, "allow"), Deny: someRules(t, "deny")}}
		for _, r := range someRules(t, "learned") {
			open.Rules = append(open.Rules, record.Scoped{Rule: r, Instance: "i"})
		}
		open.Sandboxed, c.Sandboxed = rapid.Bool().Draw(t, "sandboxed"), rapid.Bool().Draw(t, "ceiling's sandboxed")
		bound := open
		bound.Ceiling = c
		call, mode := rapid.SampledFrom(ceilingCalls).Draw(t, "call"), someMode(t, "own mode")
		ask := record.Ask{Tool: call.Tool, Input: string(call.Input), Cwd: call.Cwd, Sandboxed: rapid.Bool().Draw(t, "in a sandbox")}
		call.Sandboxed = ask.Sandboxed
		got := bound.Judge("i", mode, protocol.KindPermissionRequest, ask, start)
		if was := open.Judge("i", mode, protocol.KindPermissionRequest, ask, start); !got.Decision.NotFreerThan(was.Decision) {
			t.Fatalf("%+v, and without a ceiling %+v", got, was)
		}
		all := policy.Policy{Mode: policy.ModeBypassPermissions, Deny: c.Deny}
		if v := all.Judge(call); !got.Decision.NotFreerThan(v.Decision) {
			t.Fatalf("%+v, and the ceiling's deny rules say %+v", got, v)
		}
		if c.Allow != nil {
			if v := (policy.Policy{Mode: c.Widest(), Allow: c.Allow, Deny: c.Deny, Sandboxed: c.Sandboxed}).Judge(call); !got.Decision.NotFreerThan(v.Decision) {
				t.Fatalf("%+v, and the ceiling says %+v", got, v)
			}
		}
		if len(bound.Cut()) == 0 {
			p, q := open.For("i", start), bound.For("i", start)
			for _, r := range p.Allow {
				if !slices.Contains(q.Allow, r) {
					t.Fatalf("%s is gone, and nothing says so", r)
				}
			}
			if p.Sandboxed != q.Sandboxed {
				t.Fatal("sandboxed: allow is gone, and nothing says so")
			}
		}
		raw, err := json.Marshal(bound)
		testenv.Must(t, err)
		var again record.PolicySet
		if err := json.Unmarshal(raw, &again); err != nil || !again.Ceiling.Same(c) || again.Sandboxed != bound.Sandboxed {
			t.Fatalf("%v: %+v of %s", err, again.Ceiling, raw)
		}
	})
}

// TestOwnUnderCeiling: a team file allows its member's own command within the ceiling only, and a changed input is not that
// command.
func TestOwnUnderCeiling(t *testing.T) {
	a := record.Ask{N: record.SumN, Tool: "Bash", Input: `{"command":"make release"}`, Cwd: "/work", Own: &policy.Own{File: "ab"}}
	judge := func(c *record.Ceiling, a record.Ask) policy.Verdict {
		return record.PolicySet{Ceiling: c}.Judge("ada", "", protocol.KindPermissionRequest, a, start)
	}
	for name, c := range map[string]struct {
		ceiling *record.Ceiling
		want    policy.Decision
	}{
		"none":            {nil, policy.Allow},
		"rules for make":  {&record.Ceiling{Allow: policy.MustRules("Bash(make:*)")}, policy.Allow},
		"rules for less":  {&record.Ceiling{Allow: policy.MustRules("Bash(ls:*)")}, policy.Ask},
		"no rules":        {&record.Ceiling{Allow: []policy.Rule{}}, policy.Ask},
		"a denied make":   {&record.Ceiling{Deny: policy.MustRules("Bash(make:*)")}, policy.Deny},
		"the widest plan": {&record.Ceiling{Mode: policy.ModePlan}, policy.Deny},
	} {
		if v := judge(c.ceiling, a); v.Decision != c.want {
			t.Errorf("%s: %s by %s", name, v.Decision, v.Rule)
		}
	}
	if v := judge(nil, a.With(`{"command":"make other"}`)); v.Decision != policy.Ask {
		t.Errorf("a changed input: %s by %s", v.Decision, v.Rule)
	}
}
