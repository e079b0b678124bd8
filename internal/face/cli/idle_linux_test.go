package cli_test

import (
	"fmt"
	"testing"
	"time"

	"waggle/internal/test/testenv"
	"waggle/spawn"
)

// TestIdleTeam measures the CPU time and memory of a team of processes that has nothing to do.
func TestIdleTeam(t *testing.T) {
	if !testenv.Soak() {
		t.Skip("it only measures: make soak runs it")
	}
	const n, seconds = 10, 10
	h := newHome(t, "waggle")
	h.program = shipped(t)
	h.ends("idle")
	h.must("up", h.write("idle.yaml", crew("idle", "process", n)), "--detach", "--quiet")
	st := h.status("idle")
	var workers []spawn.Identity
	for _, m := range st.Members {
		id := identify(t, m.PID)
		id.Inside = true // the worker alone, without the processes below it
		workers = append(workers, id)
	}
	leader := identify(t, st.Leader.PID)
	leader.Inside = true
	ids := append(workers, leader)
	use := func() []spawn.Usage {
		used, err := spawn.UsageOf(ids...)
		testenv.Must(t, err)
		return used
	}
	rest := func(d time.Duration) { <-time.After(d) }
	rest(3 * time.Second) // until the work of the start is over
	before := use()
	rest(seconds * time.Second)
	var cpu time.Duration
	var rss uint64
	after := use()
	for i := range workers {
		cpu += after[i].CPU - before[i].CPU
		rss += after[i].RSS
	}
	lead := after[n].CPU - before[n].CPU
	testenv.Measured(t, "%d idle members in processes, for %d s: %d ms of CPU for all workers, %s resident each; %d ms for the leader",
		n, seconds, cpu.Milliseconds(), fmt.Sprintf("%.1f MB", float64(rss)/n/(1<<20)), lead.Milliseconds())
}
