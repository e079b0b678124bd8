package cli

import (
	"runtime"
	"runtime/debug"
)

// collectLater delays the first garbage collection until the heap has 16 MB instead of 4, which
// most commands never reach: that collection is a fifth of the cost of a short command. After it
// the usual GOGC applies, so that a long command uses no more memory than before.
func collectLater() {
	usual := debug.SetGCPercent(400)
	if usual != 100 { // the user's GOGC applies
		debug.SetGCPercent(usual)
		return
	}
	type witness struct{ _ *int } // the first collection finalizes it
	runtime.AddCleanup(&witness{}, func(percent int) { debug.SetGCPercent(percent) }, usual)
}
