package policy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/test/testenv"
	"waggle/policy"
	"waggle/protocol"
)

func TestParseRule(t *testing.T) {
	for _, c := range []struct{ in, tool, pattern string }{
		{"Bash", "Bash", ""},
		{" Read ", "Read", ""},
		{"Bash(git:*)", "Bash", "git:*"},
		{"Bash( git:* )", "Bash", "git:*"},
		{"Bash(npm run test:*)", "Bash", "npm run test:*"},
		{"Bash(rm -rf:*)", "Bash", "rm -rf:*"},
		{"Bash(go vet ./...)", "Bash", "go vet ./..."},
		{"Bash(a | b > c)", "Bash", "a | b > c"},
		{"Bash(echo $(date))", "Bash", "echo $(date)"},
		{"Bash(git commit -m \"a\n\n\tb\")", "Bash", "git commit -m \"a\n\n\tb\""},
		{"Bash(make a\nmake b)", "Bash", "make a\nmake b"},
		{"Bash(grep '*' a | wc -l)", "Bash", "grep '*' a | wc -l"},
		{"Bash(grep \"*\" a | wc -l)", "Bash", "grep \"*\" a | wc -l"},
		{"Bash(cat <<'E'\na * b\nE)", "Bash", "cat <<'E'\na * b\nE"},
		{"Bash(echo ')')", "Bash", "echo ')'"},
		{"Bash(git add '*.go')", "Bash", "git add '*.go'"},
		{"Read(docs/**)", "Read", "docs/**"},
		{"Read(./docs//a/../b/*.md)", "Read", "docs/b/*.md"},
		{"Read(./*.md)", "Read", "*.md"},
		{"Edit(//abs/dir/x)", "Edit", "/abs/dir/x"},
		{"Edit(/abs/dir//**)", "Edit", "/abs/dir/**"},
		{"Edit(../other/**)", "Edit", "../other/**"},
		{"Write(src/(group)/*.ts)", "Write", "src/(group)/*.ts"},
		{"Read([a-z0_]x)", "Read", "[a-z0_]x"},
		{"Glob(**/*.{go,mod})", "Glob", "**/*.{go,mod}"},
		{"WebFetch(domain:Example.COM)", "WebFetch", "domain:example.com"},
		{"WebFetch(domain:*.example.com)", "WebFetch", "domain:*.example.com"},
		{"mcp__github", "mcp__github", ""},
		{"mcp__my-server.v2__get_it", "mcp__my-server.v2__get_it", ""},
		{"mcp__git__*", "mcp__git", ""},
		{"mcp__jira__get*", "mcp__jira__get*", ""},
		{"SomeFutureTool", "SomeFutureTool", ""},
	} {
		r, err := policy.ParseRule(c.in)
		if err != nil {
			t.Errorf("%q: %v", c.in, err)
			continue
		}
		if want := (policy.Rule{Tool: c.tool, Pattern: c.pattern}); r != want {
			t.Errorf("%q: %+v, want %+v", c.in, r, want)
		}
		if again, err := policy.ParseRule(r.String()); err != nil || again != r {
			t.Errorf("%q: read back as %+v, %v", r, again, err)
		}
		if w, err := policy.FromWire(r.Wire()); err != nil || w != r {
			t.Errorf("%q: over the wire %+v, %v", r, w, err)
		}
	}
}

func TestParseRuleRefuses(t *testing.T) {
	for _, c := range []struct{ in, says string }{
		{"", "empty"},
		{"   ", "empty"},
		{"()", "empty pattern"},
		{"(x)", "no tool name"},
		{"Bash()", "empty pattern"},
		{"Bash( )", "empty pattern"},
		{"Bash(git", "unbalanced"},
		{"Bash git)", "unbalanced"},
		{"Bash(git)x", "after the closing"},
		{"Bash(a) Read(b)", "not readable"},
		{"Bash((git:*)", "plain"},
		{"Read((x)", "unbalanced"},
		{"Bash(echo 'x)", "not readable"},
		{"Bash(*)", "wildcard"},
		{"Bash(git *)", "wildcard"},
		{"Bash(git*)", "wildcard"},
		{"Bash(*:*)", "plain"},
		{"Bash(:*)", "plain"},
		{"Bash(git:*:*)", "plain"},
		{"Bash(git $X:*)", "plain"},
		{"Bash(git && ls:*)", "plain"},
		{"Bash(X=1 git:*)", "plain"},
		{"Bash('':*)", "plain"},
		{"Bash(# git)", "no command"},
		{"Bash(git # x:*)", "plain"},
		{"Read(a\nb)", "invisible"}, {"Bash(a\rb)", "invisible"}, {"Bash(a\n\u200bb)", "invisible"}, {"Bash(a\nb:*)", "plain"}, {"Bash(ls *\nb)", "wildcard"},
		{"Bash(a\x00b)", "invisible"},
		{"Bash(a\u202eb)", "invisible"},
		{"Bash(a\xffb)", "UTF-8"},
		{"Ba\tsh", "invisible"},
		{"bash(git:*)", "write Bash"},
		{"BASH", "write Bash"},
		{"read", "write Read"},
		{"Web Fetch", "cannot be in"},
		{"1Tool", "cannot be in"},
		{"Bäsh", "cannot be in"},
		{"Agent(x)", "mean nothing"},
		{"WebSearch(x)", "mean nothing"},
		{"TaskList(x)", "mean nothing"},
		{"SomeFutureTool(x)", "mean nothing"},
		{"mcp__a__b(x)", "mean nothing"},
		{"mcp__", "mcp__server"},
		{"mcp__a__", "mcp__server"},
		{"mcp_a", "mcp__server"},
		{"mcp__*", "at the end of the tools"},
		{"mcp__a*", "at the end of the tools"},
		{"mcp__a__b__*", "at the end of the tools"},
		{"mcp__a__b__c*", "at the end of the tools"},
		{"mcp__a__*x", "cannot be in"},
		{"mcp__a__**", "cannot be in"},
		{"mcp____*", "mcp__server"},
		{"Web*", "at the end of the tools"},
		{"*", "at the end of the tools"},
		{"mcp__a__get*(x)", "mean nothing"},
		{"MCP__a", "mcp__server"},
		{"Read(~/x)", "absolute path"},
		{"Read(C:/x)", "drive"},
		{`Read(C:\x)`, "drive"},
		{"Read(./~/x)", "absolute path"},
		{"Read(./c:/x)", "drive"},
		{"Read(a/)", "does not end in /"},
		{"Read(*/../x)", "never matches"},
		{"Read(**/./x)", "never matches"},
		{"Read([a)", "cannot be read"},
		{"Read({a)", "cannot be read"},
		{`Read(a\)`, "cannot be read"},
		{"Read([^a]x)", "class"},
		{"Read([!a]x)", "class"},
		{"Read([+-9]x)", "class"},
		{"Read([.]x)", "class"},
		{"Read({a}{b}{c}{d}{e})", "brace"},
		{"WebFetch(example.com)", "domain:"},
		{"WebFetch(domain:)", "host name"},
		{"WebFetch(domain:*)", "host name"},
		{"WebFetch(domain:*.*.com)", "host name"},
		{"WebFetch(domain:a/b)", "host name"},
		{"WebFetch(domain:a.com:80)", "host name"},
		{"WebFetch(domain:ex ample.com)", "host name"},
		{"WebFetch(domain:bücher.de)", "host name"},
		{"Bash(" + strings.Repeat("a", 4097) + ")", "longer"},
		{strings.Repeat("a", 5000), "longer"},
		{strings.Repeat("a", 300), "longer"},
	} {
		r, err := policy.ParseRule(c.in)
		if err == nil {
			t.Errorf("%q: read as %+v", c.in, r)
			continue
		}
		if !strings.Contains(err.Error(), c.says) || !strings.HasPrefix(err.Error(), "policy: ") || len(err.Error()) > 500 {
			t.Errorf("%q: %v; want it to say %q", c.in, err, c.says)
		}
		if r != (policy.Rule{}) {
			t.Errorf("%q: an error and a rule %+v", c.in, r)
		}
	}
}

func TestRuleOnTheWire(t *testing.T) {
	r, err := policy.FromWire(protocol.PermissionRule{ToolName: "Bash", RuleContent: "git:*"})
	if err != nil || r.String() != "Bash(git:*)" {
		t.Errorf("%v, %v", r, err)
	}
	for _, w := range []protocol.PermissionRule{
		{}, {RuleContent: "x"}, {ToolName: "Bash(git:*)"}, {ToolName: "Bash(", RuleContent: "git:*)"}, {ToolName: "Bash", RuleContent: " "},
	} {
		if r, err := policy.FromWire(w); err == nil {
			t.Errorf("%+v: read as %v", w, r)
		}
	}
}

func TestRuleTextRefusesWhatWouldBeReadOtherwise(t *testing.T) {
	for _, r := range []policy.Rule{{}, {Tool: "Bash", Pattern: "*"}, {Tool: "Read", Pattern: "./x"}, {Tool: "Bash(x", Pattern: "y"}, {Tool: "Read "}} {
		if text, err := r.MarshalText(); err == nil {
			t.Errorf("%+v: written as %s", r, text)
		}
	}
}

func TestPolicyJSON(t *testing.T) {
	p := policy.Policy{
		Version: 1<<53 + 1, Mode: policy.ModePlan,
		Allow: policy.MustRules("Read", "Bash(go test:*)"), Deny: policy.MustRules("Bash(rm -rf:*)"),
	}
	raw, err := json.Marshal(p)
	testenv.Must(t, err)
	want := `{"version":9007199254740993,"mode":"plan","allow":["Read","Bash(go test:*)"],"deny":["Bash(rm -rf:*)"]}`
	if string(raw) != want {
		t.Errorf("wrote %s", raw)
	}
	var back policy.Policy
	testenv.Must(t, json.Unmarshal(raw, &back))
	if diff := cmp.Diff(p, back); diff != "" {
		t.Error(diff)
	}
	if raw, _ := json.Marshal(policy.Policy{}); string(raw) != `{"version":0,"mode":"","allow":[],"deny":[]}` {
		t.Errorf("the zero policy is %s", raw)
	}
	for _, bad := range []string{
		`null`, `[]`, `{"mode":"nope"}`, `{"Mode":"plan"}`, `{"mode":"plan","mode":"default"}`, `{"mode":"plan","Mode":"default"}`,
		`{"allow":["bash"]}`, `{"allow":"Bash"}`, `{"deny":["Bash("]}`, `{"version":-1}`, `{"version":1.5}`, `{"ceiling":1}`, `{"mode":1}`,
		`{"allow":["Re\ud800ad"]}`,
	} {
		p := policy.Policy{Version: 7}
		if err := json.Unmarshal([]byte(bad), &p); err == nil {
			t.Errorf("%s: read as %+v", bad, p)
		} else if p.Version != 7 {
			t.Errorf("%s: an error, and the policy changed", bad)
		}
	}
}

func TestDecisionText(t *testing.T) {
	for d, s := range map[policy.Decision]string{allow: "allow", deny: "deny", ask: "ask"} {
		text, err := d.MarshalText()
		if err != nil || string(text) != s || d.String() != s {
			t.Errorf("%d is %s, %v", d, text, err)
		}
		back := policy.Decision(9)
		if err := back.UnmarshalText(text); err != nil || back != d {
			t.Errorf("%s reads as %v, %v", text, back, err)
		}
	}
	if _, err := policy.Decision(3).MarshalText(); err == nil {
		t.Error("decision 3 is written")
	}
	if d, err := policy.ParseDecision("Allow"); err == nil || d != deny {
		t.Errorf("Allow reads as %v", d)
	}
	if (policy.Decision(0)) != deny {
		t.Error("the zero decision does not deny")
	}
}

// TestRuns: a rule for an interpreter, a runner or a wrapper says that it allows whatever that runs.
func TestRuns(t *testing.T) {
	for rule, want := range map[string]string{
		"Bash(node:*)": "node", "Bash(python3:*)": "python3", "Bash(sh:*)": "sh", "Bash(timeout:*)": "timeout", "Bash(sudo:*)": "sudo", "Bash(npm run:*)": "npm run", "Bash(make:*)": "make",
		"Bash(git:*)": "git", "Bash(/usr/bin/env:*)": "env", "Bash(go run:*)": "go run",
		"Bash(go test:*)": "", "Bash(npm run test:*)": "", "Bash(node x.js)": "", "Bash(git status:*)": "", "Bash(ls:*)": "", "Bash": "", "Read(node)": "", "WebFetch(domain:node.js)": "",
	} {
		if got := policy.MustRules(rule)[0].Runs(); got != want {
			t.Errorf("%s runs %q, want %q", rule, got, want)
		}
	}
}
