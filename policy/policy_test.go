package policy_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"waggle/policy"
)

func TestNarrow(t *testing.T) {
	p := policy.Policy{Version: 3, Mode: policy.ModeAcceptEdits, Allow: policy.MustRules("Bash"), Deny: make([]policy.Rule, 0, 8)}
	n := p.Narrow(policy.MustRules("Bash(rm:*)", "Bash(rm:*)", "Edit")...)
	want := policy.Policy{Version: 3, Mode: policy.ModeAcceptEdits, Allow: policy.MustRules("Bash"), Deny: policy.MustRules("Bash(rm:*)", "Edit")}
	if diff := cmp.Diff(want, n); diff != "" {
		t.Error(diff)
	}
	n.Allow[0].Tool = "Changed"
	m := p.Narrow(policy.MustRules("Read")...)
	if n.Deny[0].String() != "Bash(rm:*)" || m.Deny[0].String() != "Read" || len(p.Deny) != 0 || p.Allow[0].Tool != "Bash" {
		t.Errorf("two policies share their rules: %v, %v, %v", p.Deny, n.Deny, m.Deny)
	}
}

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		name                string
		mode, ceiling       policy.Mode
		allow, ceilingAllow string // separated by ", "
		wantMode            policy.Mode
		wantAllow, wantCut  string
	}{
		{"under everything", "acceptEdits", "bypassPermissions", "Bash, Edit", "", "acceptEdits", "Bash, Edit", ""},
		{"mode cut", "bypassPermissions", "default", "", "", "default", "", "mode bypassPermissions"},
		{"mode cut, the ceiling's rules stay", "bypassPermissions", "default", "", "Bash(go test:*)", "default", "Bash(go test:*)", "mode bypassPermissions"},
		{"rule cut", "default", "default", "Bash, Read(src/**)", "", "default", "Read(src/**)", "allow Bash"},
		{"rule narrowed to the ceiling's", "default", "default", "Bash", "Bash(go test:*)", "default", "Bash(go test:*)", "allow Bash"},
		{"narrower prefix stays", "default", "default", "Bash(go test ./x:*), Bash(go:*)", "Bash(go test:*)", "default", "Bash(go test ./x:*), Bash(go test:*)", "allow Bash(go:*)"},
		{"exact under prefix", "default", "default", "Bash(go test ./...)", "Bash(go test:*)", "default", "Bash(go test ./...)", ""},
		{"prefix over exact", "default", "default", "Bash(go test:*)", "Bash(go test ./...)", "default", "Bash(go test ./...)", "allow Bash(go test:*)"},
		{"prefix over the same exact words", "default", "default", "Bash(make:*)", "Bash(make)", "default", "Bash(make)", "allow Bash(make:*)"},
		{"compound needs itself", "default", "default", "Bash(a | b > c)", "Bash(a:*), Bash(b:*)", "default", "", "allow Bash(a | b > c)"},
		{"compound under every command", "default", "default", "Bash(a | b > c)", "Bash", "default", "Bash(a | b > c)", ""},
		{"words, not letters", "default", "default", "Bash(gitk:*)", "Bash(git:*)", "default", "", "allow Bash(gitk:*)"},
		{"directory", "default", "default", "Edit(src/a/*.go), Edit(srcs/a)", "Edit(src/**)", "default", "Edit(src/a/*.go)", "allow Edit(srcs/a)"},
		{"directory upwards", "default", "default", "Edit(../../x)", "Edit(../**)", "default", "", "allow Edit(../../x)"},
		{"absolute directory", "default", "default", "Edit(/a/b/**), Edit(/c)", "Edit(/a/**)", "default", "Edit(/a/b/**)", "allow Edit(/c)"},
		{"everything relative", "default", "default", "Edit(src/**), Edit(/a), Edit(../a)", "Edit(**)", "default", "Edit(src/**)", "allow Edit(/a), allow Edit(../a)"},
		{"guarded under a wildcard", "default", "default", "Edit(src/.git/**)", "Edit(src/**)", "default", "", "allow Edit(src/.git/**)"},
		{"edits by mode", "default", "acceptEdits", "Edit(src/**), Edit(.git/x), Edit(../x), Edit", "", "default", "Edit(src/**)", "allow Edit(.git/x), allow Edit(../x), allow Edit"},
		{"reads by mode", "default", "safe", "Read(src/**), Read", "", "safe", "Read(src/**)", "mode default, allow Read"},
		{"another tool", "default", "default", "Write(a)", "Edit(a)", "default", "", "allow Write(a)"},
		{"mcp tool under server", "default", "default", "mcp__a__b, mcp__c__d", "mcp__a", "default", "mcp__a__b", "allow mcp__c__d"},
		{"mcp tools under server", "default", "default", "mcp__a__get*, mcp__c__d*", "mcp__a", "default", "mcp__a__get*", "allow mcp__c__d*"},
		{"mcp tools under tools", "default", "default", "mcp__a__get*, mcp__a__g*", "mcp__a__ge*", "default", "mcp__a__get*, mcp__a__ge*", "allow mcp__a__g*"},
		{"mcp server over tool", "default", "default", "mcp__a", "mcp__a__b", "default", "mcp__a__b", "allow mcp__a"},
		{"host below", "default", "default", "WebFetch(domain:a.x.org), WebFetch(domain:x.org)", "WebFetch(domain:*.x.org)", "default", "WebFetch(domain:a.x.org)", "allow WebFetch(domain:x.org)"},
		{"hosts below", "default", "default", "WebFetch(domain:*.a.x.org)", "WebFetch(domain:*.x.org)", "default", "WebFetch(domain:*.a.x.org)", ""},
		{"beside each other", "dontAsk", "safe", "", "", "locked-down", "", "mode dontAsk"},
		{"unknown mode", "delegate", "bypassPermissions", "", "", "delegate", "", ""},
		{"unknown ceiling", "default", "delegate", "Read", "", "delegate", "", "mode default, allow Read"},
		{"empty mode", "", "default", "", "", "default", "", ""},
		{"team's own lists", "default", "default", "TaskList, TaskCreate", "", "default", "TaskList", "allow TaskCreate"},
	} {
		p := policy.Policy{Version: 5, Mode: c.mode, Allow: rules(c.allow), Deny: policy.MustRules("Bash(x:*)")}
		ceiling := policy.Policy{Version: 9, Mode: c.ceiling, Allow: rules(c.ceilingAllow), Deny: policy.MustRules("Bash(y:*)")}
		got, cut := p.Within(ceiling)
		if got.Version != 5 || got.Mode != c.wantMode || names(got.Allow) != c.wantAllow || names(got.Deny) != "Bash(x:*), Bash(y:*)" {
			t.Errorf("%s: %+v", c.name, got)
		}
		if s := strings.Join(cut, ", "); s != c.wantCut {
			t.Errorf("%s: cut %q, want %q", c.name, s, c.wantCut)
		}
		if again, cut := got.Within(ceiling); names(again.Allow) != names(got.Allow) || again.Mode != got.Mode || len(cut) > 0 {
			t.Errorf("%s: once more within: %+v, cut %v", c.name, again, cut)
		}
	}
}

func rules(list string) []policy.Rule {
	if list == "" {
		return nil
	}
	return policy.MustRules(strings.Split(list, ", ")...)
}

func names(rs []policy.Rule) string {
	var out []string
	for _, r := range rs {
		out = append(out, r.String())
	}
	return strings.Join(out, ", ")
}
