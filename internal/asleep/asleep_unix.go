//go:build linux || darwin

package asleep

import (
	"math"
	"time"

	"golang.org/x/sys/unix"
)

// Total is how long the machine was suspended since it was started, 0 where that is not known.
func Total() time.Duration { return between(still, running) }

// between is what a clock that runs while the machine is suspended is ahead of one that stands still then. A
// process that is held up between two readings counts that too, so of a few the quickest counts.
func between(still, running int32) (ahead time.Duration) {
	best := time.Duration(math.MaxInt64)
	for range 3 {
		var a, b, c unix.Timespec
		if unix.ClockGettime(still, &a) != nil || unix.ClockGettime(running, &b) != nil || unix.ClockGettime(still, &c) != nil {
			return 0
		}
		if took := time.Duration(c.Nano() - a.Nano()); took < best {
			best, ahead = took, max(0, time.Duration(b.Nano()-a.Nano()))
		}
	}
	return ahead
}
