package policy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/policy"
)

// TestWhatIsRead: the standard input of a command is judged with it. A rule for a shell, an
// interpreter or a program that takes its arguments from its input does not allow that text.
func TestWhatIsRead(t *testing.T) {
	for _, c := range []struct {
		allow, deny, text, stdin string
		want                     policy.Decision
		risk                     policy.Risk
	}{
		{"Bash(sh)", "", "sh", "touch x", policy.Ask, policy.RiskHigh},
		{"Bash(sh:*)", "", "sh -s", "touch x", policy.Ask, policy.RiskHigh},
		{"Bash(sh); Bash(touch:*)", "", "sh", "touch x", policy.Allow, policy.RiskHigh},
		{"Bash(sh); Bash(touch:*)", "", "sh", "touch x; rm y", policy.Ask, policy.RiskHigh},
		{"Bash(sh); Bash(touch:*)", "Bash(rm:*)", "sh", "touch x; rm y", policy.Deny, policy.RiskHigh},
		{"Bash", "Bash(rm:*)", "sudo bash", "rm -rf /", policy.Deny, policy.RiskHigh},
		{"Bash(sh); Bash(sh:*); Bash(cat:*)", "", "sh", "sh\ncat", policy.Ask, policy.RiskHigh},
		{"Bash(sh); Bash(python3:*)", "", "sh", "python3", policy.Ask, policy.RiskHigh},
		{"Bash(xargs touch)", "", "xargs touch", "x", policy.Ask, policy.RiskMedium},
		{"Bash(xargs:*)", "", "xargs touch", "/etc/passwd", policy.Ask, policy.RiskHigh},
		{"Bash(python3)", "", "python3", "print(1)", policy.Ask, policy.RiskHigh},
		{"Bash(python3:*)", "", "python3 -c pass", "print(1)", policy.Ask, policy.RiskHigh},
		{"Bash(python3 x.py)", "", "python3 x.py", "data", policy.Allow, policy.RiskHigh},
		{"Bash(node:*)", "", "node -", "1", policy.Ask, policy.RiskHigh},
		{"Bash(bash /dev/stdin)", "", "bash /dev/stdin", "touch x", policy.Ask, policy.RiskHigh},
		{"Bash(cat)", "", "cat", "words", policy.Allow, policy.RiskLow},
		{"", "", "ls $X | xargs touch", "/etc/passwd", policy.Ask, policy.RiskHigh}, // an expansion lowers no risk
		{"Bash(cat:*)", "", "cat", "words", policy.Allow, policy.RiskLow},
		{"Bash(tee:*)", "", "tee a", "words", policy.Ask, policy.RiskMedium},
		{"Bash(cat:*)", "", "cat", "", policy.Allow, policy.RiskLow},
		{"Bash(cat)", "Bash(rm:*)", "cat", "please rm it", policy.Ask, policy.RiskLow},
		{"Bash(cat)", "Bash(rm:*)", "cat", "the word /bin/rm", policy.Ask, policy.RiskLow},
		{"Bash(cat)", "Bash(rm:*)", "cat", "a farm", policy.Allow, policy.RiskLow},
		{"Bash(cat); Bash(sh)", "", "cat | sh", "touch x", policy.Ask, policy.RiskHigh},
		{"Bash", "", "sh", "touch x", policy.Allow, policy.RiskHigh},
		{"", "", "cat", "words", policy.Allow, policy.RiskLow},
	} {
		p := policy.Policy{Allow: rulesOf(c.allow), Deny: rulesOf(c.deny)}
		inside, err := json.Marshal(map[string]string{"command": c.text, "stdin": c.stdin})
		testenv.Must(t, err)
		beside, err := json.Marshal(map[string]string{"command": c.text})
		testenv.Must(t, err)
		for _, call := range []policy.Call{{Tool: "Bash", Input: inside, Cwd: "/work"}, {Tool: "Bash", Input: beside, Cwd: "/work", Stdin: c.stdin},
			{Tool: "Bash", Input: inside, Cwd: "/work", Stdin: c.stdin}} {
			if v := p.Judge(call); v.Decision != c.want {
				t.Errorf("%q reading %q under %q without %q: %v (%s), want %v", c.text, c.stdin, c.allow, c.deny, v.Decision, v.Why, c.want)
			}
			if r := policy.RiskOf(call); r != c.risk {
				t.Errorf("%q reading %q: risk %s, want %s", c.text, c.stdin, r, c.risk)
			}
		}
	}
}

func rulesOf(s string) []policy.Rule {
	if s == "" {
		return nil
	}
	return policy.MustRules(strings.Split(s, "; ")...)
}

// TestTwoStories: Judge denies a call when the stdin in its input is not the call's Stdin.
func TestTwoStories(t *testing.T) {
	p := policy.Policy{Mode: policy.ModeBypassPermissions}
	for in, stdin := range map[string]string{
		`{"command":"sh","stdin":"ls"}`:            "touch x",
		`{"command":"sh","Stdin":"ls"}`:            "",
		`{"command":"sh","stdin":1}`:               "",
		`{"command":"sh","stdin":"","stdin":"ls"}`: "",
	} {
		if v := p.Judge(policy.Call{Tool: "Bash", Input: []byte(in), Stdin: stdin}); v.Decision != policy.Deny {
			t.Errorf("%s: %v", in, v)
		}
	}
}

// TestWhatIsSet: variables that decide what code runs are never covered by a rule.
func TestWhatIsSet(t *testing.T) {
	for kv, want := range map[string]struct {
		policy.Decision
		policy.Risk
	}{
		"WAGGLE_TASK_ID=1":     {policy.Allow, policy.RiskLow},
		"WAGGLE_ARTIFACTS=/x":  {policy.Allow, policy.RiskLow},
		"WAGGLE_ROOT=/x":       {policy.Ask, policy.RiskMedium},
		"X=1":                  {policy.Ask, policy.RiskMedium},
		"PATH=/tmp":            {policy.Ask, policy.RiskHigh},
		"LD_PRELOAD=/tmp/x.so": {policy.Ask, policy.RiskHigh},
		"GIT_SSH_COMMAND=x":    {policy.Ask, policy.RiskHigh},
		"BASH_ENV=x":           {policy.Ask, policy.RiskHigh},
	} {
		call := policy.Call{Tool: "Bash", Input: []byte(`{"command":"ls"}`), Cwd: "/work", Env: []string{kv}}
		v := policy.Policy{Allow: policy.MustRules("Bash(ls)")}.Judge(call)
		if r := policy.RiskOf(call); v.Decision != want.Decision || r != want.Risk {
			t.Errorf("%s: %v (%s), %s", kv, v.Decision, v.Why, r)
		}
	}
}

func TestCommands(t *testing.T) {
	for text, want := range map[string][]policy.Command{
		"make":                      {{Name: "make"}},
		"sh -e build.sh x":          {{Name: "sh", Script: "build.sh"}},
		"bash -o pipefail x.sh":     {{Name: "bash", Script: "x.sh"}},
		"sh -c 'python3.12 x.py'":   {{Name: "sh"}, {Name: "python3.12", Script: "x.py"}},
		"python3 -m pytest":         {{Name: "python3"}},
		"python3 - x.py":            {{Name: "python3"}},
		"node -e 1 x.js":            {{Name: "node"}},
		"timeout 5 ruby x.rb":       {{Name: "timeout"}, {Name: "ruby", Script: "x.rb"}},
		"$CC x.c; ./run":            {{Name: "./run"}},
		". ./env.sh && go test ./x": {{Name: ".", Script: "./env.sh"}, {Name: "go"}},
	} {
		in, err := json.Marshal(map[string]string{"command": text})
		testenv.Must(t, err)
		got := policy.Commands(policy.Call{Tool: "Bash", Input: in})
		if len(got) != len(want) {
			t.Errorf("%s: %v, want %v", text, got, want)
			continue
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: %v, want %v", text, got, want)
			}
		}
	}
	got := policy.Commands(policy.Call{Tool: "Bash", Input: []byte(`{"command":"sh"}`), Stdin: "make x"})
	if len(got) != 2 || got[1].Name != "make" {
		t.Errorf("what a shell reads: %v", got)
	}
}
