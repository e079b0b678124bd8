package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"waggle/policy"
)

func TestFileTools(t *testing.T) {
	for _, c := range []struct {
		name        string
		mode        policy.Mode
		allow, deny string // rules separated by a space
		tool, input string
		want        policy.Decision
	}{
		// Inside and outside, as text.
		{"relative", "", "", "", "Read", `{"file_path":"a/b.go"}`, allow},
		{"the directory itself", "", "", "", "LS", `{"path":"/work/api"}`, allow},
		{"no path: the directory", "", "", "", "Grep", `{"pattern":"x"}`, allow},
		{"empty path", "", "", "", "Glob", `{"pattern":"**/*.go","path":""}`, allow},
		{"dots that stay", "", "", "", "Read", `{"file_path":"a/../b.go"}`, allow},
		{"dots that leave", "", "", "", "Read", `{"file_path":"a/../../b.go"}`, ask},
		{"absolute dots that leave", "", "", "", "Read", `{"file_path":"/work/api/../secret"}`, ask},
		{"a neighbour with the same beginning", "", "", "", "Read", `{"file_path":"/work/api2/x"}`, ask},
		{"doubled slashes", "", "", "", "Read", `{"file_path":"//work//api/x"}`, allow},
		{"home", "", "", "", "Read", `{"file_path":"~/x"}`, ask},
		{"backslash", "", "", "", "Read", `{"file_path":"..\\..\\x"}`, ask},
		{"drive", "", "", "", "Read", `{"file_path":"C:/x"}`, ask},
		{"control character", "", "", "", "Read", `{"file_path":"a\u0000b"}`, ask},
		{"bidi", "", "", "", "Read", `{"file_path":"a\u202eb"}`, ask},
		{"no path at all", "", "", "", "Read", `{}`, ask},
		{"a path that is no text", "", "", "", "Read", `{"file_path":["a"]}`, ask},
		{"a null path", "", "", "", "Read", `{"file_path":null}`, ask},
		{"path under another key", "", "", "", "Read", `{"path":"/etc/x"}`, ask},
		{"two paths, one outside", "", "", "", "Read", `{"file_path":"a","path":"/etc/x"}`, ask},
		{"two paths, the first outside", "", "", "", "Read", `{"file_path":"/etc/x","path":"a"}`, ask},
		{"notebook", "", "", "", "NotebookRead", `{"notebook_path":"a.ipynb"}`, allow},
		{"glob pattern that leaves", "", "", "", "Glob", `{"pattern":"/etc/**"}`, ask},
		{"glob pattern with dots", "", "", "", "Glob", `{"pattern":"../**/*.go"}`, ask},
		{"glob pattern with dots behind a star", "", "", "", "Glob", `{"pattern":"*/../../x"}`, ask},
		{"glob pattern with an absolute brace", "", "", "", "Glob", `{"pattern":"{/etc,src}/**"}`, ask},
		{"glob pattern below a path", "", "", "", "Glob", `{"pattern":"x/*.go","path":"src"}`, allow},
		{"glob pattern from an outer path", "", "", "", "Glob", `{"pattern":"*.go","path":"/etc"}`, ask},
		{"glob pattern that is no text", "", "", "", "Glob", `{"pattern":1}`, ask},
		// Patterns.
		{"absolute rule", "", "Read(/etc/*)", "", "Read", `{"file_path":"/etc/hosts"}`, allow},
		{"absolute rule, deeper", "", "Read(/etc/*)", "", "Read", `{"file_path":"/etc/ssl/x"}`, ask},
		{"absolute rule, escaping", "", "Read(/etc/**)", "", "Read", `{"file_path":"/etc/../root/x"}`, ask},
		{"absolute rule, arriving", "", "Read(/etc/**)", "", "Read", `{"file_path":"../../etc/hosts"}`, allow},
		{"neighbour rule", "", "Read(../lib/**)", "", "Read", `{"file_path":"/work/lib/a.go"}`, allow},
		{"relative rule", "", "Edit(src/**)", "", "Edit", `{"file_path":"/work/api/src/a/b.go"}`, allow},
		{"relative rule, itself", "", "Edit(src/**)", "", "Edit", `{"file_path":"src"}`, allow},
		{"relative rule, beside", "", "Edit(src/**)", "", "Edit", `{"file_path":"src2/a"}`, ask},
		{"star stays in a name", "", "Edit(*.go)", "", "Edit", `{"file_path":"a/b.go"}`, ask},
		{"star does not cross", "", "Edit(src/*)", "", "Edit", `{"file_path":"src/a/b"}`, ask},
		{"case", "", "Edit(src/**)", "", "Edit", `{"file_path":"SRC/a"}`, ask},
		{"another tool", "", "Edit(src/**)", "", "Write", `{"file_path":"src/a"}`, ask},
		{"every call", "", "Write", "", "Write", `{"file_path":"/etc/x"}`, allow},
		{"every call, home", "", "Read", "", "Read", `{"file_path":"~/x"}`, allow},
		{"pattern, home", "", "Edit(**)", "", "Edit", `{"file_path":"~/x"}`, ask},
		{"two paths, one matched", "", "Edit(a)", "", "Edit", `{"file_path":"a","path":"b"}`, ask},
		{"guarded, wildcard", "", "Edit(**)", "", "Edit", `{"file_path":".git/hooks/x"}`, ask},
		{"guarded below, wildcard", "", "Edit(**)", "", "Edit", `{"file_path":"sub/.git/hooks/x"}`, ask},
		{"guarded, spelled", "", "Edit(.git/**)", "", "Edit", `{"file_path":".git/hooks/x"}`, allow},
		{"guarded, other case", "acceptEdits", "", "", "Edit", `{"file_path":".GIT/hooks/x"}`, ask},
		{"guarded, every call", "", "Edit", "", "Edit", `{"file_path":".git/hooks/x"}`, allow},
		{"guarded is readable", "", "", "", "Read", `{"file_path":".git/config"}`, allow},
		{"not guarded", "acceptEdits", "", "", "Edit", `{"file_path":".github/x"}`, allow},
		{"team file", "acceptEdits", "", "", "Write", `{"file_path":"waggle.yaml"}`, ask},
		// Deny reaches further.
		{"denied file", "", "Read", "Read(.env)", "Read", `{"file_path":"/work/api/.env"}`, deny},
		{"denied file, other case", "", "Read", "Read(.env)", "Read", `{"file_path":".ENV"}`, deny},
		{"denied file, dots", "", "Read", "Read(.env)", "Read", `{"file_path":"x/../.env"}`, deny},
		{"denied file, backslash", "", "Read", "Read(a/.env)", "Read", `{"file_path":"a\\.env"}`, deny},
		{"denied file, second path", "", "Read", "Read(.env)", "Read", `{"file_path":"x","path":".env"}`, deny},
		{"denied anywhere", "", "Read", "Read(**/.env)", "Read", `{"file_path":"a/b/.env"}`, deny},
		{"denied outside", "", "Read", "Read(/etc/**)", "Read", `{"file_path":"../../etc/passwd"}`, deny},
		{"another file", "", "Read", "Read(.env)", "Read", `{"file_path":".envrc"}`, allow},
		{"denied for grep", "", "", "Read(.env)", "Grep", `{"pattern":"x","path":".env"}`, deny},
		{"denied for a notebook", "", "", "Read(a.ipynb)", "NotebookRead", `{"notebook_path":"a.ipynb"}`, deny},
		{"denied edit, written", "bypassPermissions", "", "Edit(.env)", "Write", `{"file_path":".env"}`, deny},
		{"denied edit, many", "bypassPermissions", "", "Edit(.env)", "MultiEdit", `{"file_path":".env"}`, deny},
		{"denied write is not edit", "bypassPermissions", "", "Write(.env)", "Edit", `{"file_path":".env"}`, allow},
		{"denied read is not edit", "bypassPermissions", "", "Read(.env)", "Edit", `{"file_path":".env"}`, allow},
		{"every read denied", "", "", "Read", "Glob", `{"pattern":"*"}`, deny},
		{"home may be the denied one", "bypassPermissions", "", "Read(/home/u/.ssh/**)", "Read", `{"file_path":"~/.ssh/id"}`, ask},
		{"no path may be the denied one", "bypassPermissions", "", "Edit(.env)", "Write", `{}`, ask},
		{"grep that would show it", "", "", "Read(**/.env)", "Grep", `{"pattern":"x","output_mode":"content"}`, ask},
		{"grep that names files", "", "", "Read(**/.env)", "Grep", `{"pattern":"x"}`, allow},
		{"grep elsewhere", "", "", "Read(secret/**)", "Grep", `{"pattern":"x","path":"src","output_mode":"content"}`, allow},
		// Other tools.
		{"mcp tool", "", "mcp__gh__get", "", "mcp__gh__get", `{}`, allow},
		{"mcp server", "", "mcp__gh", "", "mcp__gh__get", `{"x":1}`, allow},
		{"mcp tools", "", "mcp__gh__get*", "", "mcp__gh__get_it", `{}`, allow},
		{"mcp tools, no more of the name", "", "mcp__gh__get*", "", "mcp__gh__get", `{}`, allow},
		{"mcp tools, other tool", "", "mcp__gh__get*", "", "mcp__gh__put", `{}`, ask},
		{"mcp tools of a longer name", "", "mcp__gh__get*", "", "mcp__gh__get__x", `{}`, ask},
		{"mcp tools of a longer name across the end", "", "mcp__gh__get_*", "", "mcp__gh__get__x", `{}`, ask},
		{"mcp tools in another case", "", "mcp__gh__get*", "", "mcp__gh__Get_it", `{}`, ask},
		{"mcp tools denied", "bypassPermissions", "", "mcp__gh__del*", "mcp__gh__delete", `{}`, deny},
		{"mcp tools denied in another case", "bypassPermissions", "", "mcp__gh__del*", "mcp__GH__DELETE", `{}`, deny},
		{"mcp tools not denied", "bypassPermissions", "", "mcp__gh__del*", "mcp__gh__get", `{}`, allow},
		{"mcp all tools", "", "mcp__gh__*", "", "mcp__gh__get", `{}`, allow},
		{"mcp server that goes on with _", "", "mcp__gh", "", "mcp__gh___get", `{}`, ask},
		{"mcp another server", "", "mcp__gh", "", "mcp__ghe__get", `{}`, ask},
		{"mcp server with a longer name", "", "mcp__gh", "", "mcp__gh__x__get", `{}`, ask},
		{"mcp tool denied", "", "mcp__gh", "mcp__gh__get", "mcp__gh__get", `{}`, deny},
		{"mcp server denied", "", "mcp__gh__get", "mcp__gh", "mcp__gh__get", `{}`, deny},
		{"mcp longer name denied", "bypassPermissions", "", "mcp__gh", "mcp__gh__x__get", `{}`, deny},
		{"mcp server in another case", "bypassPermissions", "", "mcp__gh", "mcp__GH__get", `{}`, deny},
		{"plain tool", "", "SendMessage", "", "SendMessage", `{"to":"x","message":"y"}`, allow},
		{"plain tool without a rule", "", "", "", "SendMessage", `{"to":"x"}`, ask},
		{"a tool of another case", "", "Bash", "", "bash", `{"command":"ls"}`, ask},
		{"a tool of another case, denied", "bypassPermissions", "", "Bash", "bash", `{"command":"ls"}`, deny},
		{"a tool of another case, maybe denied", "bypassPermissions", "", "Bash(rm:*)", "bash", `{"command":"ls"}`, ask},
		{"no input", "", "Foo", "", "Foo", ``, allow},
		{"enter plan", "locked-down", "", "", "EnterPlanMode", ``, allow},
		// WebFetch.
		{"host", "", "WebFetch(domain:x.org)", "", "WebFetch", `{"url":"https://X.org/a?b#c"}`, allow},
		{"host, port", "", "WebFetch(domain:x.org)", "", "WebFetch", `{"url":"http://x.org:8080/"}`, allow},
		{"host below", "", "WebFetch(domain:x.org)", "", "WebFetch", `{"url":"https://a.x.org/"}`, ask},
		{"hosts below", "", "WebFetch(domain:*.x.org)", "", "WebFetch", `{"url":"https://a.b.x.org/"}`, allow},
		{"hosts below, not itself", "", "WebFetch(domain:*.x.org)", "", "WebFetch", `{"url":"https://x.org/"}`, ask},
		{"host with a longer name", "", "WebFetch(domain:x.org)", "", "WebFetch", `{"url":"https://ax.org/"}`, ask},
		{"host as a user", "", "WebFetch(domain:x.org)", "", "WebFetch", `{"url":"https://x.org@evil.com/"}`, ask},
		{"host and a user", "", "WebFetch(domain:x.org)", "", "WebFetch", `{"url":"https://u@x.org/"}`, ask},
		{"host and a backslash", "", "WebFetch(domain:x.org)", "", "WebFetch", `{"url":"https://evil.com\\@x.org/"}`, ask},
		{"host and a tab", "", "WebFetch(domain:x.org)", "", "WebFetch", `{"url":"https://x.org\t.evil.com/"}`, ask},
		{"another scheme", "", "WebFetch(domain:x.org)", "", "WebFetch", `{"url":"file://x.org/etc/passwd"}`, ask},
		{"no scheme", "", "WebFetch(domain:x.org)", "", "WebFetch", `{"url":"x.org"}`, ask},
		{"opaque", "", "WebFetch(domain:x.org)", "", "WebFetch", `{"url":"https:x.org"}`, ask},
		{"trailing dot", "", "WebFetch(domain:x.org)", "", "WebFetch", `{"url":"https://x.org./"}`, ask},
		{"no url", "", "WebFetch(domain:x.org)", "", "WebFetch", `{}`, ask},
		{"denied host", "", "WebFetch", "WebFetch(domain:x.org)", "WebFetch", `{"url":"https://x.org/"}`, deny},
		{"denied host, below", "", "WebFetch", "WebFetch(domain:x.org)", "WebFetch", `{"url":"https://A.x.ORG/"}`, deny},
		{"denied hosts, itself", "", "WebFetch", "WebFetch(domain:*.x.org)", "WebFetch", `{"url":"https://x.org/"}`, deny},
		{"denied host, unreadable", "", "WebFetch", "WebFetch(domain:x.org)", "WebFetch", `{"url":"https://u:p@x.org/"}`, deny},
		{"denied host, unreadable other", "", "WebFetch", "WebFetch(domain:x.org)", "WebFetch", `{"url":"https://[::1%25lo]/"}`, ask},
		{"another host", "", "WebFetch", "WebFetch(domain:x.org)", "WebFetch", `{"url":"https://y.org/"}`, allow},
	} {
		p := policy.Policy{Mode: c.mode, Allow: policy.MustRules(strings.Fields(c.allow)...), Deny: policy.MustRules(strings.Fields(c.deny)...)}
		if v := p.Judge(call(c.tool, c.input)); v.Decision != c.want {
			t.Errorf("%s: %s %s: %+v, want %s", c.name, c.tool, c.input, v, c.want)
		}
	}
}

// A working directory that is unknown, or that contains wildcards, allows nothing more.
func TestWorkingDirectory(t *testing.T) {
	p := policy.Policy{Mode: policy.ModeAcceptEdits, Allow: policy.MustRules("Edit(src/**)", "Read(/etc/*)"), Deny: policy.MustRules("Edit(src/secret)")}
	for _, c := range []struct {
		cwd, tool, file string
		want            policy.Decision
	}{
		{"", "Edit", "src/a", ask},
		{"", "Edit", "a", ask},
		{"", "Read", "a", ask},
		{"", "Read", "/etc/hosts", allow},
		{"", "Edit", "src/secret", deny},
		{"work", "Edit", "src/a", ask},
		{"/wo\x00rk", "Edit", "/wo/src/a", ask},
		{"/w*", "Edit", "/work/src/a", ask},
		{"/w*", "Edit", "/w*/src/a", allow},
		{"/w{a,b}", "Edit", "/wa/src/a", ask},
		{"/work/../tmp", "Edit", "/tmp/x", allow},
		{"/work/../tmp", "Edit", "/work/x", ask},
		{"/", "Edit", "/etc/x", allow},
		{"/w/.claude/worktrees/x", "Edit", "/w/.claude/worktrees/x/a.go", allow},
		{"/w/.claude/worktrees/x", "Edit", "/w/.claude/settings.json", ask},
	} {
		in := policy.Call{Tool: c.tool, Cwd: c.cwd, Input: fmt.Appendf(nil, `{"file_path":%q}`, c.file)}
		if v := p.Judge(in); v.Decision != c.want {
			t.Errorf("%+v: %+v", c, v)
		}
	}
}

func TestInputs(t *testing.T) {
	p := policy.Policy{Mode: policy.ModeBypassPermissions}
	for _, c := range []struct {
		tool, input string
		want        policy.Decision
	}{
		{"Bash", `{"command":"ls"}`, allow},
		{"Bash", `{"command":"ls","description":"x","timeout":5}`, allow},
		{"Bash", ` {"command" : "ls"} `, allow},
		{"Bash", `{"command":"ls"`, deny},
		{"Bash", `{"command":"ls"}{}`, deny},
		{"Bash", "\v{\"command\":\"ls\"}", deny},
		{"Bash", "\ufeff{\"command\":\"ls\"}", deny},
		{"Bash", "\r\n{\"command\":\"ls\"}\n", allow},
		{"Bash", `["ls"]`, deny},
		{"Bash", `"ls"`, deny},
		{"Bash", `null`, deny},
		{"Bash", "{\"command\":\"l\xffs\"}", deny},
		{"Bash", `{"command":"ls","command":"rm"}`, deny},
		{"Bash", `{"command":"ls","comm\u0061nd":"rm"}`, deny},
		{"Bash", `{"command":"ls","command":"ls"}`, deny},
		{"Bash", `{"command":"ls","Command":"rm"}`, deny},
		{"Bash", `{"Command":"ls"}`, deny},
		{"Bash", `{"COMMAND":"ls"}`, deny},
		{"Bash", `{"command":"ls","x":{"a":1,"a":2}}`, deny},
		{"Bash", `{"command":"ls","x":[{"b":1},{"a":1,"a":2}]}`, deny},
		{"Bash", `{"command":"ls","x":[{"a":1},{"a":2}],"y":{"command":1}}`, allow},
		{"Bash", `{"command":"ls \ud800"}`, deny},
		{"Bash", `{"command":"ls \udc00"}`, deny},
		{"Bash", `{"command":"ls \udc00\udc00"}`, deny},
		{"Bash", `{"command":"ls \ud83dx"}`, deny},
		{"Bash", `{"command":"ls \ud83d\u0041"}`, deny},
		{"Bash", `{"command":"echo \ud83d\ude00"}`, allow},
		{"Bash", `{"command":"echo \\ud800"}`, allow},
		{"Bash", `{"command":"echo \\\ud800"}`, deny},
		{"Bash", `{}`, ask},
		{"Bash", ``, ask},
		{"Bash", `{"command":null}`, ask},
		{"Bash", `{"command":["ls"]}`, ask},
		{"Bash", `{"command":"ls\u0007"}`, ask},
		{"Bash", `{"command":"ls\r\nls"}`, ask},
		{"Bash", `{"command":"ls\u0000"}`, ask},
		{"Bash", `{"command":"ls","dangerouslyDisableSandbox":true}`, ask},
		{"Bash", `{"command":"ls","dangerouslyDisableSandbox":false}`, allow},
		{"Bash", `{"command":"ls","dangerouslydisablesandbox":true}`, deny},
		{"Read", `{"file_path":"a","File_Path":"/etc/x"}`, deny},
		{"Read", `{"file_path":"a","file_path":"b"}`, deny},
		{"WebFetch", `{"url":"http://x","URL":"http://y"}`, deny},
		{"Foo", `{"a":1,"a":2}`, deny},
		{"Foo", `{"a":1,"A":2}`, allow},
		{"Foo", `1`, deny},
		{"", `{}`, deny},
		{"Fo\x00o", `{}`, deny},
		{strings.Repeat("x", 300), `{}`, deny},
		{"Foo", `{"a":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`, deny},
	} {
		v := p.Judge(call(c.tool, c.input))
		if v.Decision != c.want {
			t.Errorf("%s %.80s: %+v, want %s", c.tool, c.input, v, c.want)
		}
		if v.Decision == deny && v.Rule != "input" {
			t.Errorf("%s %.80s: denied by %q", c.tool, c.input, v.Rule)
		}
	}
}

// A rule that cannot be judged allows nothing and denies its tool.
func TestRulesThatWereNotParsed(t *testing.T) {
	for _, r := range []policy.Rule{{Tool: "Bash", Pattern: "*"}, {Tool: "Bash", Pattern: "'"}, {}, {Pattern: "x"}} {
		if v := (policy.Policy{Allow: []policy.Rule{r}}).Judge(bash("*")); v.Decision == allow {
			t.Errorf("allow %+v: %+v", r, v)
		}
		if v := (policy.Policy{Mode: policy.ModeBypassPermissions, Deny: []policy.Rule{r}}).Judge(bash("ls")); v.Decision != deny {
			t.Errorf("deny %+v: %+v", r, v)
		}
	}
}

func TestVerdictsName(t *testing.T) {
	p := policy.Policy{Allow: policy.MustRules("Bash(go test:*)", "Bash(cd:*)"), Deny: policy.MustRules("Bash(rm:*)", "Bash(curl:*)")}
	for _, c := range []struct {
		mode policy.Mode
		call policy.Call
		rule string
	}{
		{"", bash("go test"), "allow Bash(go test:*)"},
		{"", bash("cd x && go test"), "allow Bash(cd:*), Bash(go test:*)"},
		{"", bash("go test && rm x"), "deny Bash(rm:*)"},
		{"", bash("$X"), "no rule"},
		{"", bash("go test $X"), "no rule"},
		{"", bash("make"), "no rule"},
		{"", call("Read", `{"file_path":"a"}`), "mode default"},
		{"dontAsk", bash("make"), "mode dontAsk"},
		{"plan", bash("make"), "mode plan"},
		{"plan", bash("go test"), "mode plan"},
		{"safe", bash("go test"), "no rule"},
		{"bypassPermissions", bash("make"), "mode bypassPermissions"},
		{"bypassPermissions", bash("$X"), "deny Bash(rm:*)"},
		{"nope", bash("make"), "mode nope"},
		{"", call("Bash", `[]`), "input"},
	} {
		q := p
		q.Mode = c.mode
		if v := q.Judge(c.call); v.Rule != c.rule {
			t.Errorf("%s %s: %+v, want rule %q", c.mode, c.call.Input, v, c.rule)
		}
	}
}

func TestHosts(t *testing.T) {
	list := []string{"X.org", "*.example.com", "10.0.0.1", "2001:DB8:0::1", "*", "https://bad.org", ""}
	for host, want := range map[string]bool{
		"x.org": true, "X.ORG": true, "a.x.org": false, "x.org.evil.com": false, "x.org.": false,
		"a.example.com": true, "a.b.example.com": true, "example.com": false, "aexample.com": false,
		"10.0.0.1": true, "10.0.0.2": false, "2001:db8::1": true, "2001:db8::2": false, "2001:db8:0::1": false, "[2001:db8::1]": false, "bad.org": false, "": false, "*": false, "*.example.com": false, "a b.example.com": false,
	} {
		if got := policy.HostAllowed(list, host); got != want {
			t.Errorf("%q: %v", host, got)
		}
	}
	for _, bad := range []string{"", "*", "*.", "*.*.org", "a.*", "http://x.org", "x.org:80", "x.org/", "-x.org", "x..org", "b\u00fccher.de", "a b", "::1%lo", "[::1]", "*.::1", "x::y"} {
		if h, err := policy.ParseHost(bad); err == nil {
			t.Errorf("%q reads as %q", bad, h)
		}
	}
	if h, err := policy.ParseHost(" *.X.org "); err != nil || h != "*.x.org" {
		t.Errorf("%q, %v", h, err)
	}
}

// A call that must be asked about is allowed by nothing, and denied by what denies it.
func TestMustAsk(t *testing.T) {
	for name, one := range map[string]struct {
		p    policy.Policy
		want policy.Decision
	}{
		"a rule":        {policy.Policy{Mode: policy.ModeDefault, Allow: policy.MustRules("Bash(ls)")}, policy.Ask},
		"a mode":        {policy.Policy{Mode: policy.ModeBypassPermissions}, policy.Ask},
		"a deny":        {policy.Policy{Mode: policy.ModeBypassPermissions, Deny: policy.MustRules("Bash(ls)")}, policy.Deny},
		"a silent mode": {policy.Policy{Mode: policy.ModeDontAsk, Allow: policy.MustRules("Bash(ls)")}, policy.Deny},
		"the sandbox":   {policy.Policy{Mode: policy.ModeDefault, Sandboxed: true}, policy.Ask},
	} {
		c := policy.Call{Tool: "Bash", Input: []byte(`{"command":"ls"}`), Cwd: "/w", Sandboxed: true, MustAsk: "Because."}
		if v := one.p.Judge(c); v.Decision != one.want || v.Decision == policy.Ask && (v.Rule != policy.RuleMustAsk || v.Why != "Because.") {
			t.Errorf("%s: %+v", name, v)
		}
		c.MustAsk = ""
		if v := one.p.Judge(c); name != "a deny" && v.Decision != policy.Allow {
			t.Errorf("%s without it: %+v", name, v)
		}
	}
}
