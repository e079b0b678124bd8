package policy_test

import (
	"encoding/json"
	"testing"

	"waggle/policy"
)

func callOf(tool, key, value string) policy.Call {
	in, err := json.Marshal(map[string]string{key: value})
	if err != nil {
		panic(err)
	}
	return policy.Call{Tool: tool, Input: in, Cwd: "/work"}
}

func TestPatternOf(t *testing.T) {
	for _, c := range []struct {
		call policy.Call
		want string
	}{
		{callOf("Bash", "command", "go test ./a"), "Bash(go test:*)"},
		{callOf("Bash", "command", "go test ./b -run X"), "Bash(go test:*)"},
		{callOf("Bash", "command", "npm run build"), "Bash(npm run build:*)"},
		{callOf("Bash", "command", "rm -rf build"), "Bash(rm -rf build)"},
		{callOf("Edit", "file_path", "/work/src/a.go"), "Edit(src/**)"},
		{callOf("Edit", "file_path", "/etc/passwd"), "Edit(/etc/passwd)"},
		{callOf("WebFetch", "url", "https://example.com/a"), "WebFetch(domain:example.com)"},
		{callOf("Bash", "command", "echo $(id)"), "Bash(echo $(id))"},
		{callOf("Read", "path", "~/x"), `Read {"path":"~/x"}`},
	} {
		if got := policy.PatternOf(c.call); got != c.want {
			t.Errorf("%s is like %s, want %s", c.call.Input, got, c.want)
		}
	}
}

// A rule covers a call exactly when it makes a policy that asks allow it.
func TestCovers(t *testing.T) {
	rules := policy.MustRules("Bash(go test:*)", "Bash(go vet ./...)", "Edit(src/**)", "Read(docs/**)", "WebFetch(domain:x.org)", "Bash", "mcp__a")
	calls := []policy.Call{callOf("Bash", "command", "go test ./..."), callOf("Bash", "command", "go test ./... && go vet ./..."),
		callOf("Bash", "command", "go test $X"), callOf("Edit", "file_path", "src/a.go"), callOf("Edit", "file_path", "b.go"),
		callOf("Read", "file_path", "/etc/x"), callOf("WebFetch", "url", "https://x.org/"), callOf("mcp__a__b", "x", "y"), {Tool: "Bash", Input: []byte("{"), Cwd: "/"}}
	for _, r := range rules {
		for _, c := range calls {
			want := policy.Policy{Allow: []policy.Rule{r}}.Judge(c).Decision == policy.Allow
			if got := r.Covers(c); got != want {
				t.Errorf("%s covers %s %s: %t, and Judge allows: %t", r, c.Tool, c.Input, got, want)
			}
		}
	}
}

func TestExplain(t *testing.T) {
	p := policy.Policy{Mode: policy.ModeDefault, Allow: policy.MustRules("Bash(go vet ./...)", "Bash(go test:*)", "Read"),
		Deny: policy.MustRules("Bash(rm:*)", "Bash(go build:*)")}
	e := p.Explain(callOf("Bash", "command", "go vet ./... && go test ./a"))
	if e.Verdict != p.Judge(callOf("Bash", "command", "go vet ./... && go test ./a")) || e.Verdict.Decision != policy.Allow {
		t.Errorf("%+v", e.Verdict)
	}
	var got []string
	for _, m := range e.Rules {
		got = append(got, m.Rule.String()+" "+m.Match)
	}
	want := []string{"Bash(rm:*) does not match", "Bash(go build:*) does not match", "Bash(go vet ./...) matches", "Bash(go test:*) matches", "Read does not match"}
	if len(got) != len(want) {
		t.Fatalf("%q", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%q, want %q", got[i], want[i])
		}
	}
	if e := p.Explain(callOf("Bash", "command", "$X y")); e.Rules[0].Match != policy.MayMatch || e.Verdict.Decision != policy.Ask || e.Risk != policy.RiskHigh {
		t.Errorf("%+v", e)
	}
	p.Mode = policy.ModeSafe
	if e := p.Explain(callOf("Bash", "command", "go test ./a")); !e.Rules[3].Mute || e.Verdict.Decision != policy.Ask {
		t.Errorf("%+v", e)
	}
	if e := p.Explain(policy.Call{Tool: "Bash", Input: []byte("[")}); e.Readable || e.Verdict.Rule != "input" {
		t.Errorf("%+v", e)
	}
}
