package cli

import (
	"runtime"
	"runtime/debug"
)

// collectLater has the first garbage collection wait until the heap has 16 MB instead of 4,
// which most commands never reach: it is a fifth of what a short one costs. After it the
// usual pace holds, so that a command that goes on takes no more memory than before.
func collectLater() {
	usual := debug.SetGCPercent(400)
	if usual != 100 { // GOGC says how
		debug.SetGCPercent(usual)
		return
	}
	type witness struct{ _ *int } // of the first collection, which takes it
	runtime.AddCleanup(&witness{}, func(percent int) { debug.SetGCPercent(percent) }, usual)
}
