//go:build unix

package spawn_test

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"waggle/internal/test/testenv"
	"waggle/spawn"
	"waggle/spawn/spawntest"
)

// A process's usage includes its descendants; a member inside a process has the usage of that
// process without them; a process that does not run uses nothing.
func TestUsage(t *testing.T) {
	t.Parallel()
	parent, child := family(t, spawntest.ModeBlock, ",stay,setsid")
	inside, err := spawn.Inside()
	must(t, err)
	used, err := spawn.UsageOf(parent.Identity(), child, inside, withStart(t, child, 1), spawn.Identity{})
	must(t, err)
	for i, n := range []int{2, 1, 1, 0, 0} {
		if u := used[i]; u.Processes != n || (u.RSS > 1<<20) != (n > 0) {
			t.Errorf("%d: %+v, want %d processes", i, u, n)
		}
	}
	if used[0].RSS <= used[1].RSS || used[3] != (spawn.Usage{}) {
		t.Errorf("%+v", used)
	}
}

// The usage of ended children still counts.
func TestUsageTime(t *testing.T) {
	t.Parallel()
	self := identify(t, os.Getpid())
	cpu := func() time.Duration {
		used, err := spawn.UsageOf(self)
		must(t, err)
		return used[0].CPU
	}
	before := cpu()
	cmd := exec.Command("sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done")
	must(t, cmd.Run())
	spent := cmd.ProcessState.UserTime()
	if grew := cpu() - before; grew < spent-20*time.Millisecond {
		t.Errorf("a child used %v, it grew by %v", spent, grew)
	}
}

// TestUsageCost: one call of UsageOf serves all members of a status.
func TestUsageCost(t *testing.T) {
	t.Parallel()
	self := identify(t, os.Getpid())
	ids := make([]spawn.Identity, 30)
	for i := range ids {
		ids[i] = self
	}
	n := testenv.Scale(3, 200)
	began := time.Now()
	for range n {
		if _, err := spawn.UsageOf(ids...); err != nil {
			t.Fatal(err)
		}
	}
	testenv.Measured(t, "what 30 members use, %d times: %v each", n, (time.Since(began) / time.Duration(n)).Round(time.Microsecond))
}
