package policy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"waggle/policy"
)

// TestLongestNames: a host and its labels, a tool, a pattern and a rule are as long as their limits,
// and no longer.
func TestLongestNames(t *testing.T) {
	label := strings.Repeat("a", 63)
	full := strings.Repeat(label+".", 3) + strings.Repeat("b", 61) // 253 bytes
	for host, ok := range map[string]bool{label + ".org": true, label + "a.org": false, full: true, full + "b": false, "a": true, "-a.org": false, "a-.org": false, "a-b.org": true, "a..org": false, "": false, "a_b": true, "é.org": false} {
		if got := policy.HostAllowed([]string{host}, host); got != ok {
			t.Errorf("a host of %d bytes, %.10q: %v", len(host), host, got)
		}
	}
	for _, c := range []struct {
		rule string
		ok   bool
	}{
		{"Bash(" + strings.Repeat("a", 4096) + ")", true}, {"Bash(" + strings.Repeat("a", 4097) + ")", false},
		{"Read(" + strings.Repeat("{a,b}", 4) + ")", true}, {"Read(" + strings.Repeat("{a,b}", 5) + ")", false},
		{"Read(/)", true}, {"Read(a/)", false}, {"Read(a)", true}, {"Read(*/..)", false}, {"Read(*/.)", false}, {"Read(*/a)", true}, {"Read((a))", true}, {"Read((a)", false},
	} {
		if _, err := policy.ParseRule(c.rule); (err == nil) != c.ok {
			t.Errorf("a rule of %d bytes, %.30s: %v", len(c.rule), c.rule, err)
		}
	}
	// Within names a rule that it cuts in at most 120 bytes, and does not cut a character in two.
	for n, want := range map[int]string{114: "Bash(" + strings.Repeat("a", 114) + ")", 115: "Bash(" + strings.Repeat("a", 115) + "…"} {
		_, cut := policy.Policy{Allow: policy.MustRules("Bash(" + strings.Repeat("a", n) + ")")}.Within(policy.Policy{})
		if len(cut) != 1 || cut[0] != "allow "+want {
			t.Errorf("%d: %q, want %q", n, cut, want)
		}
	}
	_, cut := policy.Policy{Allow: policy.MustRules("Bash(" + strings.Repeat("a", 114) + "é)")}.Within(policy.Policy{})
	if want := "allow Bash(" + strings.Repeat("a", 114) + "…"; len(cut) != 1 || cut[0] != want {
		t.Errorf("%q, want %q", cut, want)
	}
}

// TestDecisionTexts: a decision is read by its name only, and the three are in an order.
func TestDecisionTexts(t *testing.T) {
	for text, want := range map[string]policy.Decision{`"allow"`: policy.Allow, `"ask"`: policy.Ask, `"deny"`: policy.Deny} {
		d := policy.Decision(99)
		if err := json.Unmarshal([]byte(text), &d); err != nil || d != want {
			t.Errorf("%s: %v, %v", text, d, err)
		}
		if b, err := json.Marshal(want); err != nil || string(b) != text {
			t.Errorf("%v: %s, %v", want, b, err)
		}
	}
	for _, bad := range []string{`"Allow"`, `""`, `"maybe"`} {
		d := policy.Ask
		if err := json.Unmarshal([]byte(bad), &d); err == nil || d != policy.Ask {
			t.Errorf("%s: %v, %v", bad, d, err)
		}
	}
	if _, err := json.Marshal(policy.Decision(99)); err == nil {
		t.Error("a decision that there is not is written")
	}
	order := []policy.Decision{policy.Deny, policy.Ask, policy.Allow}
	for i, a := range order {
		for k, b := range order {
			if got := a.NotFreerThan(b); got != (i <= k) {
				t.Errorf("%v is not freer than %v: %v", a, b, got)
			}
		}
	}
}

// TestSurrogates: an input with half a character is not judged; a whole one, in any spelling, is.
func TestSurrogates(t *testing.T) {
	p := policy.Policy{Mode: policy.ModeBypassPermissions, Allow: policy.MustRules("Bash")}
	for text, whole := range map[string]bool{
		`\ud83d\ude00`: true, `\uD83D\uDE00`: true, `\uDBFF\uDFFF`: true, `\uD800\uDC00`: true, `\ud7ff`: true, `\ue000`: true, `\uFFFD`: true, `\\ud83d`: true, `\ud83d\ude00\ud83d\ude00`: true, `x\u0041\ud83d\ude00y`: true,
		`\ud83d`: false, `\uDE00`: false, `\uD83D\uD83D`: false, `\uD83Dx`: false, `\uD83D\n`: false, `\uDC00\uD83D`: false, `\ud83d\ude00\ud83d`: false, `\ud83d\ude00\ude00`: false, `\\\ud83d`: false, `\uD83D\uDBFF`: false, `\uD83D\uE000`: false, `\uDBFF`: false, `\uDFFF`: false, `\uD800`: false,
	} {
		v := p.Judge(policy.Call{Tool: "Bash", Input: []byte(`{"command":"echo","description":"` + text + `"}`), Cwd: "/w"})
		if (v.Decision == policy.Allow) != whole {
			t.Errorf("%s: %+v", text, v)
		}
	}
}
