package policy_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"waggle/internal/test/testenv"
	"waggle/policy"
)

// TestJudgeNesting: a command of many brackets and nothing else is refused without parsing it: 16
// KB of them took four seconds, once for every rule of a file.
func TestJudgeNesting(t *testing.T) {
	p := policy.Policy{Version: 1, Mode: policy.ModeDefault, Allow: policy.MustRules("Bash(ls:*)")}
	for _, part := range []string{"(", "((", "$(", "$((a?", "$[", "{ ", "${a[", "f()", "if "} {
		text := strings.Repeat(part, 16<<10/len(part))
		input, err := json.Marshal(map[string]string{"command": text})
		testenv.Must(t, err)
		var v policy.Verdict
		took := testenv.CPU(func() { v = p.Judge(policy.Call{Tool: "Bash", Input: input, Cwd: "/w"}) })
		if v.Decision != policy.Ask {
			t.Errorf("%q: %s", part, v.Decision)
		}
		testenv.Within(t, part, took, 2*time.Second*testenv.Slow)
	}
	if _, err := policy.ParseRule("Bash(" + strings.Repeat("(", 4000) + ")"); err == nil || !strings.Contains(err.Error(), "more than 64 brackets") {
		t.Errorf("a rule of brackets: %v", err)
	}
	for text, want := range map[string]policy.Decision{
		"ls a[1] {b,c}":                       policy.Allow,
		"ls " + strings.Repeat("'(x)' ", 100): policy.Allow,
		"ls '" + strings.Repeat(")", 100) + strings.Repeat("(", 60) + "'": policy.Allow,
	} {
		input, err := json.Marshal(map[string]string{"command": text})
		testenv.Must(t, err)
		if v := p.Judge(policy.Call{Tool: "Bash", Input: input, Cwd: "/w"}); v.Decision != want {
			t.Errorf("%.40q: %s, %s", text, v.Decision, v.Why)
		}
	}
}
