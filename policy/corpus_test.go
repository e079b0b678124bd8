package policy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/policy"
)

// corpusText is one line of a file in testdata.
type corpusText struct {
	group string // the heading above it
	line  int
	text  string
}

func (c corpusText) name() string { return fmt.Sprintf("%s/%d", c.group, c.line) }

// readCorpus reads testdata/FILE: one shell text a line, "## NAME" begins a group,
// other lines with "# " are comments, "⏎" stands for a line break.
func readCorpus(t *testing.T, file string) []corpusText {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", file))
	testenv.Must(t, err)
	var all []corpusText
	group := ""
	for i, line := range strings.Split(string(raw), "\n") {
		switch name, heading := strings.CutPrefix(line, "## "); {
		case heading:
			group = name
		case line == "" || strings.HasPrefix(line, "# "):
		default:
			all = append(all, corpusText{group, i + 1, strings.ReplaceAll(line, "⏎", "\n")})
		}
	}
	return all
}

// denyCorpora are the files of ways around rm -rf, with how many texts and carriers
// each has at least. The second was written to attack what the first had led to.
var denyCorpora = []struct {
	file            string
	texts, carriers int
}{{"deny.txt", 400, 40}, {"deny_red.txt", 600, 60}, {"deny_outside.txt", 150, 30}}

// carrierOf is the program that a text of a corpus begins with.
func carrierOf(text string) string {
	for _, field := range strings.Fields(text) {
		if !strings.Contains(field, "=") {
			return strings.Trim(field, ";(){}'\"")
		}
	}
	return text
}

// TestDenyCorpus judges every disguise of rm -rf in the deny corpora: none is allowed, whatever
// other rules allow.
func TestDenyCorpus(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	for _, file := range denyCorpora {
		t.Run(file.file, func(t *testing.T) { judgeDenyCorpus(t, file.file, file.texts, file.carriers) })
	}
}

// TestDenyParts: the same of curl, whose name the texts put together.
func TestDenyParts(t *testing.T) {
	testenv.OneGoroutine(t)
	corpus := readCorpus(t, "deny_curl.txt")
	for _, c := range corpus {
		for _, m := range []policy.Mode{policy.ModeAcceptEdits, policy.ModeBypassPermissions} {
			p := policy.Policy{Mode: m, Allow: policy.MustRules("Bash"), Deny: policy.MustRules("Bash(curl:*)")}
			if v := p.Judge(bash(c.text)); v.Decision == allow {
				t.Errorf("deny_curl.txt:%d: mode %q allows %s: %+v", c.line, m, c.text, v)
			}
		}
	}
	if len(corpus) < 100 {
		t.Errorf("%d texts", len(corpus))
	}
	testenv.Measured(t, "deny_curl.txt: of %d ways around deny Bash(curl:*) 0 may be allowed", len(corpus))
}

func judgeDenyCorpus(t *testing.T, file string, texts, groups int) {
	corpus := readCorpus(t, file)
	carriers := map[string]bool{}
	denied, asked := 0, 0
	for _, c := range corpus {
		carriers[carrierOf(c.text)] = true
		first, _, _ := strings.Cut(strings.TrimSpace(c.text), " ")
		broad := []policy.Rule{{Tool: "Bash"}}
		if r, err := policy.ParseRule("Bash(" + first + ":*)"); err == nil {
			broad = append(broad, r)
		}
		if r, err := policy.ParseRule("Bash(" + c.text + ")"); err == nil {
			broad = append(broad, r)
		}
		for _, p := range []policy.Policy{
			{Allow: broad},
			{Mode: policy.ModeAcceptEdits, Allow: broad},
			{Mode: policy.ModeBypassPermissions},
			{Mode: policy.ModeBypassPermissions, Allow: broad},
			{Mode: policy.ModeDontAsk, Allow: broad},
			{Mode: policy.ModePlan, Allow: broad},
		} {
			p.Deny = policy.MustRules("Bash(rm:*)")
			v := p.Judge(bash(c.text))
			if v.Decision == allow {
				t.Errorf("%s:%d: mode %q allows %s under deny Bash(rm:*): %+v", file, c.line, p.Mode, c.text, v)
			}
			p.Deny = policy.MustRules("Bash(rm -rf:*)")
			v = p.Judge(bash(c.text))
			if v.Decision == allow {
				t.Errorf("%s:%d: mode %q allows %s: %+v", file, c.line, p.Mode, c.text, v)
			}
			if p.Mode == policy.ModeBypassPermissions && len(p.Allow) > 0 {
				if v.Decision == deny {
					denied++
				} else {
					asked++
				}
			}
		}
	}
	if len(corpus) < texts || len(carriers) < groups {
		t.Errorf("%d texts from %d carriers, want %d from %d", len(corpus), len(carriers), texts, groups)
	}
	testenv.Measured(t, file+": ways around deny Bash(rm -rf:*): %d texts from %d carriers, %d denied, %d asked, 0 may be allowed", len(corpus), len(carriers), denied, asked)
}

// TestEveryday: of the commands that agents write all day hardly one asks, where the programs that they run have rules and
// files may be edited.
func TestEveryday(t *testing.T) {
	p := policy.Policy{Mode: policy.ModeAcceptEdits, Allow: policy.MustRules("Bash(go build:*)", "Bash(go test:*)", "Bash(go vet:*)", "Bash(go run:*)", "Bash(go mod tidy)", "Bash(gofmt:*)",
		"Bash(golangci-lint run:*)", "Bash(npm test:*)", "Bash(npm run:*)", "Bash(npm ci)", "Bash(npx tsc:*)", "Bash(npx eslint:*)", "Bash(npx prettier:*)", "Bash(npx vitest:*)", "Bash(node:*)",
		"Bash(pytest:*)", "Bash(python -m pytest:*)", "Bash(python3 -m pytest:*)", "Bash(ruff:*)", "Bash(mypy:*)", "Bash(make:*)", "Bash(git add:*)", "Bash(git commit:*)",
		"Bash(git checkout:*)", "Bash(git switch:*)", "Bash(git stash:*)", "Bash(mkdir:*)", "Bash(touch:*)", "Bash(cp:*)", "Bash(mv:*)")}
	asked, corpus := 0, readCorpus(t, "everyday.txt")
	for _, c := range corpus {
		if v := p.Judge(bash(c.text)); v.Decision != allow {
			asked++
			t.Logf("everyday.txt:%d: %s asks: %s", c.line, c.text, v.Why)
		}
	}
	if asked > 3 || len(corpus) < 150 {
		t.Errorf("%d of %d ask", asked, len(corpus))
	}
	testenv.Measured(t, "everyday.txt: of %d commands under rules for their programs %d ask", len(corpus), asked)
}

// TestNotAllowed: what an attack has found to be allowed is not, and the texts beside it are.
func TestNotAllowed(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	p := policy.Policy{Mode: policy.ModeAcceptEdits, Allow: policy.MustRules("Bash(go test:*)", "Bash(./run.sh:*)", "Bash(go pwned:*)")}
	for _, c := range readCorpus(t, "allow_not.txt") {
		if v := p.Judge(bash(c.text)); v.Decision == allow {
			t.Errorf("allow_not.txt:%d: %s: %+v", c.line, c.text, v)
		}
	}
	for _, text := range []string{"command ls", "find . -name '*.go'", "sort a.txt b.txt", "ls *.go | xargs wc -l", "find . -name '*.go' -exec cat {} +", "find . -type f -print0 | xargs -0 cat", "x=a; cat $x", "cat <<'EOF'\n$(x)\nEOF", "[ -n \"$x\" ]", "[ $? -eq 0 ]", "head -n 3 a",
		"for f in a b; do (cd $f && cat c); done", "grep \"x$\" a", "sed -i s/x/y/ a", "cp a.go b.go", "n=$(wc -l < a | wc -l); [ \"$n\" -gt 0 ]", "find . -name '*.go' -exec wc -l {} +", "date +%s", "wc -l *.go",
		"tar tf a.tgz", "tree -L 2", "du -d 1 .", "grep -rn x . --include=*.go", "find . -type f -print0 | xargs -0 wc -l", "jq .a b.json", "exit 1", "printf '%s\\n' a"} {
		if v := p.Judge(bash(text)); v.Decision != allow {
			t.Errorf("%q: %+v", text, v)
		}
	}
	for _, text := range []string{"x=" + strings.Repeat("a", 4000) + "; cat " + strings.Repeat("$x", 6000), "for i in " + strings.Repeat("1 ", 60) + "; do cat" + strings.Repeat(" f", 7500) + "; done",
		strings.Repeat("echo a|sh;", 1600), "echo 'echo x | bash' | bash", // it says itself
		"[[ " + strings.Repeat("a && ", 2500) + "-n b ]]", "for i in " + strings.Repeat("1 ", 64) + "; do " + strings.Repeat("(cp "+strings.Repeat("a ", 120)+"> x; ); ", 15) + "done",
		strings.Repeat("timeout 1 ", 1500) + "ls", "git " + strings.Repeat("-C . ", 3200) + "status",
		"x=a" + strings.Repeat("; x=$x$x", 30) + "; cat $x", strings.Repeat("for a in "+strings.Repeat("a ", 60)+"; do ", 4) + "x=1; " + strings.Repeat("done; ", 4), strings.Repeat("cd a; cat a b c d e f g h; ", 400)} {
		if v := p.Judge(bash(text)); v.Decision != ask { // within the time of the test
			t.Errorf("%.60q: %+v", text, v)
		}
		for _, rule := range []string{"Read(.env)", "Bash(rm:*)"} {
			if v := p.Narrow(policy.MustRules(rule)...).Judge(bash(text)); v.Decision == allow {
				t.Errorf("%.60q under %s: %+v", text, rule, v)
			}
		}
		policy.RiskOf(bash(text))
	}
}

// TestDeniedPaths: a text that reads or writes a file that a rule denies is never allowed, whatever else is.
func TestDeniedPaths(t *testing.T) {
	testenv.OneGoroutine(t)
	for file, least := range map[string][2]int{"paths.txt": {80, 60}, "paths_red.txt": {230, 0}} {
		denied, corpus := 0, readCorpus(t, file)
		for _, c := range corpus {
			rule, text, _ := strings.Cut(c.text, "\t")
			for _, m := range policy.Modes() {
				v := policy.Policy{Mode: m.Mode, Allow: policy.MustRules("Bash"), Deny: policy.MustRules(rule)}.Judge(bash(text))
				if v.Decision == allow {
					t.Errorf("%s:%d: mode %s allows %s under deny %s", file, c.line, m.Mode, text, rule)
				}
				if v.Decision == deny && m.Mode == policy.ModeBypassPermissions {
					denied++
				}
			}
		}
		if len(corpus) < least[0] || denied < least[1] {
			t.Errorf("%s: %d texts, %d are denied", file, len(corpus), denied)
		}
		testenv.Measured(t, "%s: of %d texts that reach a denied file %d are denied, 0 may be allowed", file, len(corpus), denied)
	}
}

// TestAllowCorpus judges texts that deny rules are not meant for. It names those
// that are asked about needlessly and those that are of high risk.
func TestAllowCorpus(t *testing.T) {
	for file, least := range map[string]int{"allow.txt": 200, "allow_red.txt": 100} {
		t.Run(file, func(t *testing.T) { judgeAllowCorpus(t, file, least) })
	}
}

func judgeAllowCorpus(t *testing.T, file string, least int) {
	p := policy.Policy{Allow: policy.MustRules("Bash"), Deny: policy.MustRules("Bash(rm -rf:*)", "Bash(git push:*)", "Bash(curl:*)", "Bash(sudo:*)")}
	corpus := readCorpus(t, file)
	count, asked, high := map[string]int{}, map[string]int{}, map[string]int{}
	for _, c := range corpus {
		count[c.group]++
		meant := strings.HasPrefix(c.text, "git push")
		if v := p.Judge(bash(c.text)); v.Decision != allow && !meant {
			asked[c.group]++
			t.Logf("%s:%d: asked needlessly: %s: %s", file, c.line, c.text, v.Why)
		} else if meant && v.Decision == allow {
			t.Errorf("%s is allowed", c.text)
		}
		if policy.RiskOf(bash(c.text)) == policy.RiskHigh {
			high[c.group]++
			t.Logf("%s:%d: high: %s", file, c.line, c.text)
		}
	}
	const everyday = "everyday"
	if n := count[everyday]; len(corpus) < least || n < 100 {
		t.Errorf("%d texts, %d of them everyday; want %d and 100", len(corpus), n, least)
	} else if asked[everyday]*100 > 5*n || high[everyday]*100 > 20*n {
		t.Errorf("of %d everyday texts %d are asked about needlessly, at most 5 of 100 may be, and %d are high, at most 20 of 100 may be", n, asked[everyday], high[everyday])
	}
	for group, n := range count {
		testenv.Measured(t, "%s, %s: of %d texts %d asked needlessly under deny rm -rf, git push, curl, sudo; %d of high risk", file, group, n, asked[group], high[group])
	}
}

// TestDenyLooksIntoItsOwnProgram: a rule with more words than a name is also searched in the words
// of the program itself, at other places than as its first arguments.
func TestDenyLooksIntoItsOwnProgram(t *testing.T) {
	p := policy.Policy{Mode: policy.ModeBypassPermissions, Deny: policy.MustRules("Bash(git push:*)", "Bash(npm publish:*)", "Bash(docker run --privileged:*)")}
	judges(t, p, map[string]policy.Decision{
		"git push": deny, "git -c alias.p=push p origin": ask, "git config alias.p push; git p": ask, "git config alias.p '!git push'": ask, "git submodule foreach git push": ask,
		"git stash push -m x": allow, "git commit -m 'push'": allow, "git log --grep=push": allow, "git checkout push": allow, "git fetch origin": allow, "git add push": allow,
		"npm run publish": allow, "npm exec -c 'npm publish'": ask, "npm --prefix x publish": ask, "docker --context x run --privileged y": ask, "docker ps": allow, "docker run x": allow,
	})
}
