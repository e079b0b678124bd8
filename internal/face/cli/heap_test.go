package cli

import (
	"runtime"
	"runtime/debug"
	"testing"

	"waggle/internal/test/testenv"
)

// percent is the pace of the collector.
func percent() int {
	now := debug.SetGCPercent(100)
	debug.SetGCPercent(now)
	return now
}

// TestCollectLater: collectLater puts off the first collection and no other, and keeps a GOGC that is set.
func TestCollectLater(t *testing.T) {
	was := debug.SetGCPercent(100)
	defer debug.SetGCPercent(was)
	collectLater()
	if p := percent(); p != 400 {
		t.Errorf("before the first collection the pace is %d", p)
	}
	testenv.Eventually(t, "the usual pace after a collection", func() bool { runtime.GC(); return percent() == 100 })
	debug.SetGCPercent(50)
	collectLater()
	if p := percent(); p != 50 {
		t.Errorf("with GOGC=50 the pace is %d", p)
	}
}
