package decide_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/operator/decide"
	"waggle/policy"
	"waggle/record"
)

// TestPolicyTestIsTheGate: policy test says of a member's call what the member's gate says of it, in every mode, under rules
// and under a ceiling.
func TestPolicyTestIsTheGate(t *testing.T) {
	t.Parallel()
	commands := []string{"ls", "cat f", "ls ..", "cat ~/f", "cat link/passwd", "ls *", "grep -r x . | head -1", "git status", "go test ./...", "echo hi >g", "rm -r sub", "make", "cat f; make", "find . -name '*.go'", "sed -n 1p f", "cat sub/f"}
	for _, m := range policy.Modes() {
		for name, set := range map[string]record.PolicySet{
			"no rules":  {},
			"rules":     {Policy: policy.Policy{Allow: []policy.Rule{rule(t, "Bash(cat:*)"), rule(t, "Bash(make)"), rule(t, "Read(sub/**)")}, Deny: []policy.Rule{rule(t, "Bash(rm:*)")}}},
			"a ceiling": {Policy: policy.Policy{Allow: []policy.Rule{rule(t, "Read(sub/out/**)")}}, Ceiling: &record.Ceiling{Mode: m.Mode, Allow: []policy.Rule{rule(t, "Read(sub/**)")}}},
		} {
			if !testenv.Full() && m.Mode != policy.ModePlan && name != "a ceiling" {
				continue
			}
			t.Run(fmt.Sprintf("%s, %s", m.Mode, name), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				testenv.Must(t, os.MkdirAll(filepath.Join(dir, "sub"), 0o700))
				if err := os.Symlink("/etc", filepath.Join(dir, "sub", "out")); err != nil {
					t.Skip(err)
				}
				set.Policy.Mode = m.Mode
				op := operatortest.New(t)
				rig := operatortest.Team(t, op, "api", set)
				var asks []operatortest.Ask
				for _, c := range append(commands, "cat sub/out/passwd") {
					asks = append(asks, operatortest.Bash(c))
				}
				rig.AsksIn(dir, "ann", asks...)
				var calls map[string]string // what the gate said
				testenv.Eventually(t, "all are asked", func() bool {
					calls = map[string]string{}
					w, err := rig.State().Worker(rig.Instance("ann"))
					if err != nil {
						return false
					}
					for _, c := range w.Calls {
						calls[c.Ask.Input] = "ask"
						if a := c.Answer; a != nil && a.By == policy.RoleRules {
							calls[c.Ask.Input] = a.Decision + " " + a.Rule
						}
					}
					return len(calls) == len(asks)
				})
				for _, a := range asks {
					j := testenv.Value(decide.Of(op).TestPolicy(t.Context(), "api", "ann", `{"tool":"Bash","input":`+a.Input+`}`, ""))(t)
					said := j.Decision
					if said != "ask" {
						said += " " + j.Rule
					}
					if said != calls[a.Input] {
						t.Errorf("%s: policy test says %q, the gate %q", a.Input, said, calls[a.Input])
					}
				}
			})
		}
	}
}
