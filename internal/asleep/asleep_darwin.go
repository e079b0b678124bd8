package asleep

import (
	"time"

	"golang.org/x/sys/unix"
)

// Total is how long the machine was suspended since it was started, 0 where that is not known.
func Total() time.Duration { return between(unix.CLOCK_UPTIME_RAW, unix.CLOCK_MONOTONIC) }
