package asleep_test

import (
	"testing"
	"time"

	"waggle/internal/asleep"
)

// TestTotal: time that passes awake is not counted; two readings of two clocks differ a little.
func TestTotal(t *testing.T) {
	before := asleep.Total()
	time.Sleep(20 * time.Millisecond) // real clock: the system's, which no bubble has
	if d := (asleep.Total() - before).Abs(); d > 10*time.Millisecond {
		t.Errorf("20 ms awake count as %s asleep", d)
	}
}
