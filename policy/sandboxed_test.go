package policy_test

import (
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
	"pgregory.net/rapid"
	_ "waggle/internal/test/testenv/seeded"
	"waggle/policy"
)

// inside is a shell text that runs in a verified sandbox.
func inside(text string) policy.Call {
	c := bash(text)
	c.Sandboxed = true
	return c
}

func TestSandboxedAllow(t *testing.T) {
	rules := policy.MustRules
	flag := policy.Policy{Sandboxed: true}
	with := func(mode policy.Mode, deny ...string) policy.Policy {
		return policy.Policy{Mode: mode, Deny: rules(deny...), Sandboxed: true}
	}
	for _, c := range []struct {
		name   string
		policy policy.Policy
		call   policy.Call
		want   policy.Decision
		rule   string
	}{
		{"a build", flag, inside("go build ./..."), allow, policy.RuleSandboxed},
		{"a loop, a redirection, a background job", flag, inside("for i in 1 2; do make $i > out.$i 2>&1 & done; wait"), allow, policy.RuleSandboxed},
		{"code from its input", flag, policy.Call{Tool: "Bash", Input: []byte(`{"command":"python3 -","stdin":"print(1)"}`), Cwd: "/work/api", Sandboxed: true}, allow, policy.RuleSandboxed},
		{"an allow rule is named first", policy.Policy{Allow: rules("Bash(go build:*)"), Sandboxed: true}, inside("go build ./..."), allow, "allow Bash(go build:*)"},
		{"a call outside a sandbox", flag, bash("go build ./..."), ask, "no rule"},
		{"a policy without the flag", policy.Policy{}, inside("go build ./..."), ask, "no rule"},
		{"another tool", flag, policy.Call{Tool: "WebFetch", Input: []byte(`{"url":"https://x.org"}`), Cwd: "/work/api", Sandboxed: true}, ask, "no rule"},
		{"an edit", flag, policy.Call{Tool: "Edit", Input: []byte(`{"file_path":"a.go"}`), Cwd: "/work/api", Sandboxed: true}, ask, "no rule"},
		{"it asks to leave", flag, policy.Call{Tool: "Bash", Input: []byte(`{"command":"make","dangerouslyDisableSandbox":true}`), Cwd: "/work/api", Sandboxed: true}, ask, "no rule"},
		{"no text", flag, policy.Call{Tool: "Bash", Input: []byte(`{}`), Cwd: "/work/api", Sandboxed: true}, ask, "no rule"},
		{"an invisible character", flag, inside("make \u202e"), ask, "no rule"},
		{"text that cannot be parsed", flag, inside("make 'x"), ask, "no rule"},

		{"a deny rule", with("", "Bash(rm -rf:*)"), inside("make && rm -rf build"), deny, "deny Bash(rm -rf:*)"},
		{"a deny rule that may match", with("", "Bash(rm -rf:*)"), inside("$CMD -rf build"), ask, "no rule"},
		{"a deny rule of nothing in it", with("", "Bash(rm -rf:*)"), inside("go test ./..."), allow, policy.RuleSandboxed},

		{"plan", with(policy.ModePlan), inside("make"), deny, "mode plan"},
		{"plan reads", with(policy.ModePlan), inside("cat a.go"), allow, "mode plan"},
		{"safe", with(policy.ModeSafe), inside("make"), ask, "no rule"},
		{"locked-down", with(policy.ModeLockedDown), inside("make"), deny, "mode locked-down"},
		{"dontAsk", with(policy.ModeDontAsk), inside("make"), allow, policy.RuleSandboxed},
		{"acceptEdits", with(policy.ModeAcceptEdits), inside("make"), allow, policy.RuleSandboxed},
		{"auto", with(policy.ModeAuto), inside("make"), allow, policy.RuleSandboxed},
		{"bypassPermissions", with(policy.ModeBypassPermissions), inside("make"), allow, "mode bypassPermissions"},
		{"an unknown mode", with("delegate"), inside("make"), deny, "mode delegate"},

		{"the program head", flag, inside("make 2>&1 | head -20"), allow, policy.RuleSandboxed},
		{"a revision", flag, inside("make && git diff HEAD && git log --oneline HEAD~3.. | head -5"), allow, policy.RuleSandboxed},
		{"the program head twice, alike", flag, inside("make 2>&1 | head -50; npm test 2>&1 | head -50"), allow, policy.RuleSandboxed},
		{"a command of git twice", flag, inside("git show HEAD; make; git show HEAD"), allow, policy.RuleSandboxed},
		{"a revision of some files", flag, inside("git diff HEAD~1 -- a.go | tee x.diff; git checkout HEAD -- a.go && make"), allow, policy.RuleSandboxed},
		{"a revision of files that come back", flag, inside("git restore --source=HEAD~1 a.go; git checkout HEAD~2 && make"), allow, policy.RuleSandboxed},
		{"a revision that others are made of", flag, inside("git archive HEAD | tar -x -C /tmp/x; git format-patch HEAD~2; git commit --fixup=HEAD; git diff @{u}..HEAD | tee x"), allow, policy.RuleSandboxed},
		{"a branch that begins at a revision", flag, inside("git checkout -b feat HEAD && make; git checkout -q -B feat HEAD~1"), allow, policy.RuleSandboxed},
		{"a revision of another repository", flag, inside("git -C sub diff HEAD | tee x.diff; git -C a -C b log HEAD~3.. | tee y"), allow, policy.RuleSandboxed},
		{"a search in a revision", flag, inside("git grep -n foo HEAD | tee found"), allow, policy.RuleSandboxed},
		{"a file beside a branch that is made", flag, inside("git checkout -b feat main HEAD"), ask, "no rule"},
		{"a file before a branch that is made", flag, inside("git checkout main HEAD -b -q"), ask, "no rule"},
		{"another repository called so", flag, inside("git -C HEAD init"), ask, "no rule"},
		{"a file of another repository", flag, inside("git -C sub checkout main HEAD"), ask, "no rule"},
		{"a file that another repository writes", flag, inside("git -C sub diff HEAD; git -C sub diff --output=HEAD a b"), ask, "no rule"},
		{"a setting behind another repository", flag, inside("git -C sub -c core.pager='tee HEAD' diff HEAD"), ask, "no rule"},
		{"a search that runs a program", flag, inside("git grep -Otouch foo HEAD; git grep --open-files-in-pager=touch foo HEAD"), ask, "no rule"},
		{"a file beside revisions", flag, inside("git checkout main HEAD"), ask, "no rule"},
		{"a file that comes back", flag, inside("git restore --source=main HEAD"), ask, "no rule"},
		{"a file behind a revision", flag, inside("git checkout HEAD -- HEAD"), ask, "no rule"},
		{"a guarded file of a revision", flag, inside("git checkout HEAD~1 -- .github/workflows/ci.yml"), ask, "no rule"},
		{"the program head twice beside a file", flag, inside("make | head -1; make | head -1; cp x head"), ask, "no rule"},
		{"the program head in a wrapper beside a file", flag, inside("make | timeout 5 head -1; cp x he''ad"), ask, "no rule"},
		{"what git takes for a repository", flag, inside("cp x HEAD"), ask, "no rule"},
		{"beside a revision", flag, inside("git diff HEAD; cp x HEAD"), ask, "no rule"},
		{"beside the program head", flag, inside("make | head -1; cp x head"), ask, "no rule"},
		{"HEAD in code beside one in git", flag, inside("git diff HEAD; python3 -c \"open('HEAD','w')\""), ask, "no rule"},
		{"behind xargs", flag, inside("make; ls | xargs head; cp x head"), ask, "no rule"},
		{"git makes it", flag, inside("git mv a.go HEAD"), ask, "no rule"},
		{"git writes to it", flag, inside("git diff --output HEAD a b"), ask, "no rule"},
		{"a file of a revision", flag, inside("make; git checkout x -- HEAD"), ask, "no rule"},
		{"beside a word that only looks so", flag, inside("git log headhead; cd sub; mv h HE''AD"), ask, "no rule"},
		{"HEAD of pieces", flag, inside("git diff HEAD; cp x HE''AD"), ask, "no rule"},
		{"a guarded file is written", flag, inside("cp hook .git/hooks/pre-commit"), ask, "no rule"},
		{"by a redirection", flag, inside("echo x >> .github/workflows/ci.yml"), ask, "no rule"},
		{"in an option", flag, inside("dd if=x of=.envrc"), ask, "no rule"},
		{"behind an option's letter", flag, inside("git -C.git config x y"), ask, "no rule"},
		{"in an assignment", flag, inside("D=.vscode; cp x $D/tasks.json"), ask, "no rule"},
		{"in a shell", flag, inside("sh -c 'cp x .claude/settings.json'"), ask, "no rule"},
		{"in what a shell reads", flag, policy.Call{Tool: "Bash", Input: []byte(`{"command":"sh","stdin":"cp x .git/hooks/pre-commit"}`), Cwd: "/work/api", Sandboxed: true}, ask, "no rule"},
		{"in capitals", flag, inside("cp x .GIT/hooks/pre-commit"), ask, "no rule"},
		{"beside an output", flag, inside("cp x $(find nope -name '*.go').git/hooks/pre-commit"), ask, "no rule"},
		{"beside a number", flag, inside("cp x $(wc -l < nope).git/hooks/pre-commit"), ask, "no rule"},
		{"beside a counter", flag, inside("false && j=0; cp x ${j}.git/hooks/y; j=$((j+1))"), ask, "no rule"},
		{"beside a variable of a background job", flag, inside("x=a & cp f ${x}.git/hooks/y"), ask, "no rule"},
		{"beside a variable that stays", flag, inside("readonly x=; x=a; cp f ${x}.git/hooks/y"), ask, "no rule"},
		{"in a text that xargs makes", flag, inside("echo c | xargs -I c sh -c 'cp x .git/hooks/pre-commit'"), ask, "no rule"},
		{"behind too many commands", flag, inside(strings.Repeat(":; ", 1100) + "cp x .git/hooks/pre-commit"), ask, "no rule"},
		{"in a document for a shell", flag, inside("sh <<'E'\ncp x .git/hooks/y\nE"), ask, "no rule"},
		{"in a text for a shell", flag, inside("echo 'cp x .git/hooks/y' | sh"), ask, "no rule"},
		{"by a wildcard", flag, inside("cp x .gi?/hooks/"), ask, "no rule"},
		{"by another one", flag, inside("mv x CLAUDE.m?"), ask, "no rule"},
		{"behind letters", flag, inside("install -Dt.git/hooks x"), ask, "no rule"},
		{"in code", flag, inside("python3 -c \"open('.git/hooks/y','w')\""), ask, "no rule"},
		{"in a script of sed", flag, inside("sed -n 'w CLAUDE.md' x"), ask, "no rule"},
		{"in a function", flag, inside("f() { cp x .git/hooks/y; }; f"), ask, "no rule"},
		{"a guarded file is read", flag, inside("cat .github/workflows/ci.yml | grep -n go"), allow, "mode default"},
		{"a name that only begins so", flag, inside("cp x .gitignore"), allow, policy.RuleSandboxed},
		{"words about it", flag, inside(`git commit -m 'fix the .git directory'`), allow, policy.RuleSandboxed},
		{"the team file", flag, policy.Call{Tool: "Bash", Input: []byte(`{"command":"cp x team/api.yaml"}`), Cwd: "/work/api", Guarded: []string{"/work/api/team/api.yaml"}, Sandboxed: true}, ask, "no rule"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := c.policy.Judge(c.call)
			if v.Decision != c.want || v.Rule != c.rule || v.Why == "" {
				t.Errorf("%s: %s %q (%s), want %s %q", c.call.Input, v.Decision, v.Rule, v.Why, c.want, c.rule)
			}
		})
	}
}

// TestSandboxed: in a sandbox what may write a guarded file asks, and what only reads or names one does not.
func TestSandboxed(t *testing.T) {
	for file, want := range map[string]policy.Decision{"sandboxed.txt": allow, "sandboxed_not.txt": ask} {
		for _, c := range readCorpus(t, file) {
			for _, mode := range []policy.Mode{policy.ModeDefault, policy.ModeAcceptEdits} {
				if v := (policy.Policy{Mode: mode, Sandboxed: true}).Judge(inside(c.text)); v.Decision != want {
					t.Errorf("%s:%d: mode %s: %s: %+v", file, c.line, mode, c.text, v)
				}
			}
		}
	}
}

// TestSandboxedSaysWhichDeny: a call that the sandbox would allow but for a deny rule that may match names that rule.
func TestSandboxedSaysWhichDeny(t *testing.T) {
	t.Parallel()
	p := policy.Policy{Sandboxed: true, Deny: policy.MustRules("Bash(git push:*)")}
	for text, want := range map[string]bool{"python3 -c 'print(1)'": true, "cp x .envrc": false} {
		for _, call := range []policy.Call{inside(text), bash(text)} {
			v := p.Judge(call)
			if named := strings.Contains(v.Why, "because deny Bash(git push:*) may match"); v.Decision != ask || named != (want && call.Sandboxed) {
				t.Errorf("%s, in a sandbox %t: %s %s", text, call.Sandboxed, v.Decision, v.Why)
			}
		}
	}
}

// TestSandboxedOnlyAnswersWhatAsks: the sandbox changes only the verdict of a call that would ask,
// and only where both the policy and the call say so.
func TestSandboxedOnlyAnswersWhatAsks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, c := genPolicy().Draw(t, "policy"), genCall().Draw(t, "call")
		before := p.Judge(c)
		p.Sandboxed = true
		if v := p.Judge(c); v != before {
			t.Fatalf("%s outside a sandbox: %+v became %+v", c.Input, before, v)
		}
		c.Sandboxed = true
		v := p.Judge(c)
		silent := false
		for _, m := range policy.Modes() {
			silent = silent || m.Mode == p.Mode && m.Silent
		}
		switch {
		case v.Rule == policy.RuleSandboxed && (before.Decision == ask || silent && before.Decision == deny) && c.Tool == "Bash" && v.Decision == allow:
		case v.Decision != before.Decision:
			t.Fatalf("%s: %+v became %+v", c.Input, before, v)
		}
		p.Sandboxed = false
		if v := p.Judge(c); v != before {
			t.Fatalf("%s without the flag: %+v became %+v", c.Input, before, v)
		}
	})
}

// guarded may have a text end with the name of a guarded file, where that is a shell text: behind a compound command a
// word is a syntax error, of which nothing runs and no part is judged.
func guarded(t *rapid.T, text string) string {
	tailed := text + rapid.SampledFrom([]string{"", " .git/hooks/x", " > .envrc", " CLAUDE.md"}).Draw(t, "guarded")
	if _, err := syntax.NewParser().Parse(strings.NewReader(tailed), ""); err != nil {
		return text
	}
	return tailed
}

// The properties of policies hold for calls in a sandbox.
func TestSandboxedProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, ceiling := genPolicy().Draw(t, "policy"), genPolicy().Draw(t, "ceiling")
		p.Sandboxed, ceiling.Sandboxed = true, rapid.Bool().Draw(t, "ceiling's flag")
		p.Allow = slices.DeleteFunc(p.Allow, func(r policy.Rule) bool { return strings.ContainsAny(r.Pattern, "|&>") || r.Pattern == "sh:*" })
		a := guarded(t, genSimple().Draw(t, "a"))
		b := guarded(t, genText().Draw(t, "b"))
		whole := a + rapid.SampledFrom(joiners).Draw(t, "joiner") + b
		va, vb, v := p.Judge(inside(a)), p.Judge(inside(b)), p.Judge(inside(whole))
		if !v.Decision.NotFreerThan(va.Decision) || !v.Decision.NotFreerThan(vb.Decision) {
			t.Fatalf("%s: %+v\n%s: %+v\n%s: %+v", a, va, b, vb, whole, v)
		}
		if !strings.HasPrefix(whole, "-") {
			wrapped := "sh -c '" + strings.ReplaceAll(whole, "'", `'\''`) + "'"
			if w := p.Judge(inside(wrapped)); !w.Decision.NotFreerThan(v.Decision) {
				t.Fatalf("%s: %+v\n%s: %+v", whole, v, wrapped, w)
			}
		}
		if n := p.Narrow(genRules(2).Draw(t, "more")...).Judge(inside(whole)); !n.Decision.NotFreerThan(v.Decision) {
			t.Fatalf("%s: %+v became %+v", whole, v, n)
		}
		bound, _ := p.Within(ceiling)
		if w := bound.Judge(inside(whole)); w.Rule != "mode plan" && (!w.Decision.NotFreerThan(v.Decision) || !w.Decision.NotFreerThan(ceiling.Judge(inside(whole)).Decision)) {
			t.Fatalf("%s: %+v, within the ceiling %+v, the ceiling %+v", whole, v, w, ceiling.Judge(inside(whole)))
		}
	})
}

func TestWithinSandboxed(t *testing.T) {
	p := policy.Policy{Mode: policy.ModeDefault, Sandboxed: true}
	if w, cut := p.Within(policy.Policy{Mode: policy.ModeDefault}); w.Sandboxed || !slices.Equal(cut, []string{policy.SandboxedAllow}) {
		t.Errorf("below a ceiling without it: %+v, cut %q", w, cut)
	}
	if w, cut := p.Within(policy.Policy{Mode: policy.ModeDefault, Sandboxed: true}); !w.Sandboxed || len(cut) > 0 {
		t.Errorf("below a ceiling with it: %+v, cut %q", w, cut)
	}
}
