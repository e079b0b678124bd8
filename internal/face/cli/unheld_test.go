package cli_test

import (
	"strings"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/operator/decide"
	"waggle/protocol"
	"waggle/record"
)

// TestUnheldIsSaid: for a call that waggle does not run, show has no bound program and says
// that program and paths are checked, not held. For a call that waggle runs, show has the
// program and does not say so.
func TestUnheldIsSaid(t *testing.T) {
	c := newCrowd(t, 1)
	in := func(cmd string) string { return `{"command":"` + cmd + `"}` }
	c.ask(c.askers[0], protocol.KindPermissionRequest, record.Ask{Tool: "Bash", Input: in("make theirs"), Cwd: "/work"})
	c.ask(c.askers[0], protocol.KindPermissionRequest, record.Ask{Tool: "Bash", Input: in("make ours"), Cwd: "/work", Bound: record.Bound{Held: true, Program: "/bin/sh"}})
	qs, err := decide.Of(c.op).Pending(t.Context(), "crowd", false)
	testenv.Must(t, err)
	if len(qs) != 2 {
		t.Fatalf("%d questions", len(qs))
	}
	for _, q := range qs {
		ours := strings.Contains(q.Command, "ours")
		out := c.prints("show", q.ID)
		if said := strings.Contains(out, "not held waggle does not run this call: program and paths are checked, not held"); said == ours {
			t.Errorf("not held is said: %v of\n%s", said, out)
		}
		if bound := strings.Contains(out, "program  /bin/sh"); bound != ours {
			t.Errorf("a program is shown: %v of\n%s", bound, out)
		}
	}
}
