package inspect_test

import (
	"strings"
	"testing"
	"time"

	"waggle/operator/inspect"
	"waggle/spawn"
)

// TestHealthOfSpending: a member whose budget is used up is StatePaused, and one at a usage limit
// StateLimited, whatever else it does. If its process is gone, it is StateDead.
func TestHealthOfSpending(t *testing.T) {
	now := time.Date(2026, 11, 21, 14, 0, 0, 0, time.UTC)
	f := inspect.MemberFacts{Now: now, Led: true, PID: 7, Process: spawn.Running, Up: true, Ready: true, Turn: &inspect.Waits{What: "has a turn"}}
	f.Limited = &inspect.Limited{Since: now.Add(-time.Minute), Until: now.Add(time.Hour), Why: "five_hour"}
	if h := f.Health(); h.State != inspect.StateLimited || h.Why != "rate-limited until 2026-11-21T15:00:00.000Z: five_hour" || !h.Since.Equal(now.Add(-time.Minute)) {
		t.Errorf("%+v", h)
	}
	f.Paused = &inspect.Waits{What: "its budget of $1 is used up", Since: now}
	f.Asks = &inspect.Waits{What: "waits"}
	if h := f.Health(); h.State != inspect.StatePaused || !strings.Contains(h.Why, "used up") {
		t.Errorf("%+v", h)
	}
	f.Process = spawn.Gone
	if h := f.Health(); h.State != inspect.StateDead {
		t.Errorf("%+v", h)
	}
}
