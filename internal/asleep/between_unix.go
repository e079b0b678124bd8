//go:build linux || darwin

package asleep

import (
	"time"

	"golang.org/x/sys/unix"
)

// between is what a clock that runs while the machine is suspended is ahead of one that stands still then.
func between(still, running int32) time.Duration {
	var a, b unix.Timespec
	if unix.ClockGettime(still, &a) != nil || unix.ClockGettime(running, &b) != nil {
		return 0
	}
	return max(0, time.Duration(b.Nano()-a.Nano()))
}
