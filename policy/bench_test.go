package policy_test

import (
	"strings"
	"testing"

	"waggle/internal/cmdline"
	"waggle/policy"
)

// benchText is a text of 2 kB of commands as agents write them.
func benchText() string {
	one := "cd pkg && go test -run 'TestOne|TestTwo' ./... 2>&1 | grep -v 'no test files' | tail -20; for f in a.go b.go; do go vet $f; done\n"
	return strings.Repeat(one, 1+2048/len(one))
}

// BenchmarkParse is the floor of BenchmarkJudge: the parser alone.
func BenchmarkParse(b *testing.B) {
	text := benchText()
	for b.Loop() {
		if _, err := cmdline.ParseShell(text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkJudge(b *testing.B) {
	p := policy.Policy{Allow: policy.MustRules("Bash(go test:*)", "Bash(go vet:*)"), Deny: policy.MustRules("Bash(rm -rf:*)", "Bash(git push:*)", "Read(.env)")}
	call := bash(benchText())
	for b.Loop() {
		if v := p.Judge(call); v.Rule == "" {
			b.Fatal(v)
		}
	}
}
