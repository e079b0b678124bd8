package cli_test

import (
	"strings"
	"testing"
	"time"

	"waggle/internal/test/testenv"
	"waggle/spawn"
)

// TestEndsOnAFullDisk: no byte of STATE and of the wire tree can be written, and members
// and whole teams are ended all the same, by their process records, in the full run in their time.
func TestEndsOnAFullDisk(t *testing.T) {
	t.Parallel()
	h, full := newSmall(t, "8m", "end")
	file := h.write("end.yaml", "team: end\npolicy: {allow: [Bash]}\nmembers: [{name: ann, agent: exec, restart: never}, {name: bob, agent: exec}]\n")
	type way struct {
		name string
		args []string
		who  []int // members that are gone then
		also bool  // the process that leads is gone too
	}
	for _, c := range testenv.Rows(t, []way{
		{"stop", []string{"stop", "ann", "--grace", "1s", "--team", "end"}, []int{0}, false},
		{"stop --force", []string{"stop", "--force", "ann", "--team", "end"}, []int{0}, false},
		{"down --force", []string{"down", "--force", "end"}, []int{0, 1}, true},
		{"down", []string{"down", "--grace", "1s", "end"}, []int{0, 1}, true},
	}, 2) {
		t.Run(c.name, func(t *testing.T) {
			h.must("up", file, "--detach", "--quiet")
			st := h.status("end")
			var ids []spawn.Identity
			for _, i := range c.who {
				ids = append(ids, identify(t, st.Members[i].PID))
			}
			if c.also {
				ids = append(ids, identify(t, st.Leader.PID))
			}
			empty := fill(t, full, 0)
			began := time.Now()
			stdout, stderr, code := h.waggle(c.args...)
			testenv.Within(t, c.name, time.Since(began), 20*time.Second)
			t.Logf("exit %d\n%s%s", code, stdout, stderr)
			for _, id := range ids {
				if id.Alive() {
					t.Errorf("pid %d lives", id.PID)
				}
			}
			empty()
			if !c.also {
				testenv.Eventually(t, "the record follows", func() bool { return h.status("end").Members[0].State == "dead" || len(h.status("end").Members) == 1 })
			}
			h.waggle("down", "--force", "end") // ends the members that are left
			if out, _, code := h.waggle("status", "end", "--json"); code != 0 || !strings.Contains(out, `"state": "ended"`) {
				t.Errorf("status of what has ended: exit %d: %s", code, out)
			}
		})
	}
}
