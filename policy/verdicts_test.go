package policy_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/test/testenv"
	"waggle/policy"
)

var update = flag.Bool("update", false, "write testdata/verdicts.txt anew")

// judgedBy are the deny rules of which testdata/verdicts.txt has a column each.
var judgedBy = []string{"Bash(rm -rf:*)", "Bash(rm:*)", "Bash(rm -rf x)", "Bash(git:*)", "Bash(git push:*)", "Bash(curl -o:*)", "Bash(sudo:*)", "Bash(sh:*)", "Bash(python3 -c:*)", "Bash(cat f)"}

// TestVerdicts: the verdicts on each text of the corpora stay as testdata/verdicts.txt has them:
// under each of the deny rules with every mode and Bash allowed, with nothing but the mode plan,
// with rules for its parts, and its risk.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	var b strings.Builder
	fmt.Fprintf(&b, "# A text that a command of ours or a model may write, and what is decided of it: d denied, ? asked,\n# . allowed. Written by go test ./policy -run TestVerdicts -update.\n# Under deny %s;\n# in the mode plan; with rules for its parts; its risk.\n", strings.Join(judgedBy, ", "))
	parts := policy.Policy{Allow: policy.MustRules("Bash(git:*)", "Bash(ls:*)", "Bash(echo:*)", "Bash(cat:*)", "Bash(find:*)", "Bash(xargs:*)", "Bash(go test:*)", "Bash(sh -c:*)", "Bash(make)"), Deny: policy.MustRules("Bash(rm:*)")}
	mark := map[policy.Decision]string{policy.Deny: "d", policy.Ask: "?", policy.Allow: "."}
	for _, file := range []string{"deny.txt", "deny_red.txt", "allow.txt", "allow_red.txt"} {
		fmt.Fprintf(&b, "\n## %s\n", file)
		for _, c := range readCorpus(t, file) {
			call := bash(c.text)
			for _, rule := range judgedBy {
				p := policy.Policy{Mode: policy.ModeBypassPermissions, Allow: policy.MustRules("Bash"), Deny: policy.MustRules(rule)}
				b.WriteString(mark[p.Judge(call).Decision])
			}
			plan := policy.Policy{Mode: policy.ModePlan}
			fmt.Fprintf(&b, " %s%s %-6s %s\n", mark[plan.Judge(call).Decision], mark[parts.Judge(call).Decision], policy.RiskOf(call), strings.ReplaceAll(c.text, "\n", "⏎"))
		}
	}
	path := filepath.Join("testdata", "verdicts.txt")
	if *update {
		testenv.Must(t, os.WriteFile(path, []byte(b.String()), 0o666))
	}
	want, err := os.ReadFile(path)
	testenv.Must(t, err)
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(b.String(), "\n")); d != "" {
		t.Errorf("%s differs; -update writes it anew:\n%s", path, d)
	}
}
