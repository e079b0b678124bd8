package policy_test

import (
	"strconv"
	"strings"
	"testing"

	"waggle/policy"
)

// TestNoCommand: a text without a command is not allowed, and neither is a shell that is given one;
// the verdict says that there is no command.
func TestNoCommand(t *testing.T) {
	p := policy.Policy{Allow: policy.MustRules("Bash(ls:*)")}
	for _, text := range []string{"", " ", "\n", "sh -c ''", "bash -c ' '", "ls && sh -c ''"} {
		v := p.Judge(policy.Call{Tool: "Bash", Cwd: "/work/api", Input: []byte(`{"command":` + strconv.Quote(text) + `}`)})
		if v.Decision != ask || !strings.Contains(strings.ToLower(v.Why), "there is no command.") {
			t.Errorf("%q: %+v", text, v)
		}
	}
}
