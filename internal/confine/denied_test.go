//go:build linux

package confine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/operator/decide"
	"waggle/policy"
	"waggle/record"
)

// TestDenied: what the team's rules deny to Read and Edit no command of a confined member reads or changes,
// from the first command after the rule; a rule about a directory that every program needs masks nothing.
func TestDenied(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	outside := filepath.Join(r.dir, "notes")
	write := func(path, text string) {
		t.Helper()
		testenv.Must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		testenv.Must(t, os.WriteFile(path, []byte(text), 0o644))
	}
	r.before = func(work string) {
		write(filepath.Join(work, ".env"), "one secret")
		write(filepath.Join(work, "deep/er/.env"), "two secret")
		write(filepath.Join(work, "infra/main.tf"), "as it was")
		write(filepath.Join(work, ".git/HEAD"), "ref: refs/heads/main\n")
	}
	write(filepath.Join(outside, "a"), "three secret")
	m := r.member("ann", record.Sandbox{Mode: record.SandboxRequired, Readable: []string{outside}})
	all := `cat .env deep/er/.env ` + outside + `/a ` + outside + `/later; echo changed > infra/main.tf; cat infra/main.tf .git/HEAD; echo new > infra/new; mv infra other; cat /etc/hostname >/dev/null && echo works`
	if got := m.run(all); strings.Count(got.out, "secret") != 3 || !strings.Contains(got.out, "changed\n") || !strings.Contains(got.out, "works\n") {
		t.Fatalf("without a rule: %s", got.out)
	}
	m.run(`mv other infra; rm infra/new; echo as it was > infra/main.tf`)
	for _, text := range []string{"Read(**/.env)", "Read(" + outside + "/**)", "Read(/etc/**)", "Read(.git/**)", "Read", "Edit(infra/**)", "Edit(nothing/**)"} {
		rule, err := policy.ParseRule(text)
		testenv.Must(t, err)
		if _, err := decide.Of(r.Op).AddRule(t.Context(), r.Name, rule, true, decide.RuleScope{}); err != nil {
			t.Fatal(err)
		}
	}
	testenv.Eventually(t, "the rules arrive", func() bool { return m.run(`echo x > infra/probe`).exit.Code != 0 })
	write(filepath.Join(outside, "later"), "four secret")
	got := m.run(all)
	if strings.Contains(got.out, "secret") || strings.Contains(got.out, "changed\n") {
		t.Errorf("with the rules: %s", got.out)
	}
	for _, want := range []string{"as it was\n", "ref: refs/heads/main\n", "works\n"} {
		if !strings.Contains(got.out, want) {
			t.Errorf("no %q in %s", want, got.out)
		}
	}
	if _, err := os.Lstat(filepath.Join(m.work, "other")); err == nil {
		t.Error("a protected directory was renamed")
	}
}
