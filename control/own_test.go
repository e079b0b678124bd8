package control_test

import (
	"strings"
	"testing"

	"waggle/policy"
	"waggle/record"
)

// ownCommand is a member's own command of the accepted file, with what it reads.
func ownCommand(command, stdin string) record.Ask {
	return record.Ask{Tool: "Bash", Input: `{"command":"` + command + `","stdin":"` + stdin + `"}`, Cwd: "/work", Bound: record.Bound{Stdin: stdin},
		Own: &policy.Own{File: strings.Repeat("ab", 32), Told: true}}
}

// TestApproved: the operator's yes to a question that says that it is for the command, and no other answer, is a yes to
// the member's own command.
func TestApproved(t *testing.T) {
	file := strings.Repeat("ab", 32)
	for name, c := range map[string]struct {
		ask   record.Ask
		allow bool
		input string
		mode  policy.Mode
		want  bool
	}{
		"a yes":              {ownCommand("xargs touch", "f1"), true, "", "", true},
		"a no":               {ownCommand("xargs touch", "f1"), false, "", "", false},
		"a changed input":    {ownCommand("xargs touch", "f1"), true, `{"command":"true"}`, "", false},
		"another question":   {ownCommand("xargs touch", "f1"), true, "", policy.ModeSafe, false},
		"an empty input":     {ownCommand("xargs touch", ""), true, "", policy.ModeSafe, false},
		"not the operator's": {func() record.Ask { a := ownCommand("xargs touch", "f1"); a.Own.Told = false; return a }(), true, "", "", false},
		"not its own":        {func() record.Ask { a := ownCommand("xargs touch", "f1"); a.Own = nil; return a }(), true, "", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			w, m := working(t, record.PolicySet{Policy: policy.Policy{Mode: c.mode}}, false)
			k := m.ask(tool, c.ask)
			w.round()
			v := verdict(w.request(k), c.allow)
			v.UpdatedInput = c.input
			if out := w.decide(v, operator); !out.Changed {
				t.Fatalf("%+v", out)
			}
			w.round()
			if got := m.w.Approved(file, "xargs touch"); (got == k.ID) != c.want || got != "" && !c.want {
				t.Errorf("approved by %q", got)
			}
			if got := m.w.Approved(file, "xargs rm") + m.w.Approved("other", "xargs touch"); got != "" {
				t.Errorf("another command, or file, is approved by %q", got)
			}
		})
	}
}
