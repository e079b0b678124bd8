package policy_test

import (
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"waggle/internal/cmdline"
	"waggle/policy"
)

// walked says what a walk over every command of the syntax, which knows nothing of structure, finds in a text besides
// commands that begin with one of the prefixes and those that only read, print or change the shell.
func walked(text string, prefixes ...string) (why string) {
	file, err := cmdline.ParseShell(text)
	if err != nil {
		return err.Error()
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		var words []cmdline.Word
		switch n := n.(type) {
		case *syntax.CallExpr:
			for _, w := range n.Args {
				words = append(words, cmdline.ReadWord(w))
			}
		case *syntax.DeclClause:
			words, _ = cmdline.CommandWords(n)
		case *syntax.Redirect:
			if w := cmdline.ReadWord(n.Word); strings.Contains(n.Op.String(), ">") && !strings.HasPrefix(w.Text, "/dev/") && !cmdline.StandardStream(w.Text) && w.Text != "-" {
				why = "it writes " + w.Text
			}
		}
		if found := runs(words, prefixes); found != "" {
			why = found
		}
		return why == ""
	})
	return why
}

// runs says what a command does more than walked takes.
func runs(c []cmdline.Word, prefixes []string) string {
	if len(c) == 0 {
		return ""
	}
	for i, w := range c {
		if w.Sure == cmdline.Unknown && !w.Pattern && i > 0 {
			c[i] = cmdline.Lit("x") // an output, or a variable of the text
		}
	}
	if text, ok := cmdline.ShellText(textsOf(c)); ok {
		return walked(text, prefixes...)
	}
	begins := strings.Join(textsOf(c), " ") + " "
	f, known := cmdline.LookUp(c)
	exec := slices.IndexFunc(c, func(w cmdline.Word) bool { return strings.HasPrefix(w.Text, "-exec") })
	switch {
	case c[0].Sure == cmdline.Unknown:
		return "something runs that is not known"
	case slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(begins, p+" ") }):
	case known && f.Inner > 0:
		return runs(c[f.Inner:], prefixes)
	case c[0].Text == "find" && exec > 0:
		return runs(c[exec+1:len(c)-1], prefixes)
	case (c[0].Text == "exec" || c[0].Text == "command") && len(c) > 1 && c[1].Text[0] != '-':
		return runs(c[1:], prefixes)
	case known && f.Risk == cmdline.RiskLow, cmdline.EffectOf(c).Only:
	case slices.Contains([]string{"cd", "pushd", "read", "set", "export", "command"}, c[0].Text):
	default:
		return "it runs " + begins
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

// TestTwoReadings: on every corpus the reading that allows a text lists all commands that a plain walk finds: what the one allows, the other takes for reading, printing or a command of the rules.
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
