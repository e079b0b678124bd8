package policy_test

import (
	"slices"
	"strings"
	"testing"

	"waggle/internal/cmdline"
	"waggle/policy"
)

// walked says what the walk for deny rules (cmdline.Walk), which knows nothing of structure, finds in a text besides
// commands that begin with one of the prefixes and those that only read, print or change the shell.
func walked(text string, prefixes ...string) string {
	s := cmdline.Walk(text)
	if s.Opaque || s.Unparsed {
		return "something runs that is not known"
	}
	for _, w := range s.Writes {
		if !strings.HasPrefix(w.Text, "/dev/") {
			return "it writes " + w.Text
		}
	}
	for _, c := range s.Commands {
		for i, w := range c {
			if w.Sure == cmdline.Unknown && !w.Pattern && i > 0 {
				c[i] = cmdline.Lit("x") // an output, or a variable of the text
			}
		}
		begins := strings.Join(textsOf(c), " ") + " "
		f, known := cmdline.LookUp(c)
		switch {
		case slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(begins, p+" ") }):
		case known && (f.Risk == cmdline.RiskLow || c[0].Text == "find"), cmdline.EffectOf(c).Only, cmdline.Transparent(c):
		case slices.Contains([]string{"cd", "pushd", "read", "set", "export", "exec", "command"}, c[0].Text):
		default:
			return "it runs " + begins
		}
	}
	return ""
}

func textsOf(c []cmdline.Word) []string {
	texts := make([]string, len(c))
	for i, w := range c {
		texts[i] = w.Text
	}
	return texts
}

// TestTwoReadings: on every corpus the reading that allows a text lists all commands that the walk for deny rules
// finds: what the one allows, the other takes for reading, printing or a command of the rules.
func TestTwoReadings(t *testing.T) {
	rules := []string{"go test", "git add", "git commit", "npm test", "make"}
	p := policy.Policy{}
	for _, r := range rules {
		p.Allow = append(p.Allow, policy.MustRules("Bash("+r+":*)")...)
	}
	allowed := 0
	for _, file := range []string{"deny.txt", "deny_red.txt", "deny_outside.txt", "allow.txt", "allow_red.txt", "everyday.txt"} {
		for _, c := range readCorpus(t, file) {
			if p.Judge(bash(c.text)).Decision != policy.Allow {
				continue
			}
			allowed++
			if why := walked(c.text, rules...); why != "" {
				t.Errorf("%s:%d: %s is allowed: %s", file, c.line, c.text, why)
			}
		}
	}
	if allowed < 150 {
		t.Errorf("%d texts are allowed", allowed)
	}
}
