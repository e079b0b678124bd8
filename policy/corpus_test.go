package policy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waggle/internal/testenv"
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
	if err != nil {
		t.Fatal(err)
	}
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
}{{"deny.txt", 400, 40}, {"deny_red.txt", 600, 60}}

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
	for _, file := range denyCorpora {
		t.Run(file.file, func(t *testing.T) { judgeDenyCorpus(t, file.file, file.texts, file.carriers) })
	}
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
	for text, want := range map[string]policy.Decision{
		"git push": deny, "git -c alias.p=push p origin": ask, "git config alias.p push; git p": ask, "git config alias.p '!git push'": ask, "git submodule foreach git push": ask,
		"git stash push -m x": allow, "git commit -m 'push'": allow, "git log --grep=push": allow, "git checkout push": allow, "git fetch origin": allow, "git add push": allow,
		"npm run publish": allow, "npm exec -c 'npm publish'": ask, "npm --prefix x publish": ask, "docker --context x run --privileged y": ask, "docker ps": allow, "docker run x": allow,
	} {
		if v := p.Judge(bash(text)); v.Decision != want {
			t.Errorf("%q: %+v, want %s", text, v, want)
		}
	}
}
