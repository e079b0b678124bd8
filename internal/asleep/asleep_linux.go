package asleep

import "golang.org/x/sys/unix"

// The clock that stands still while the machine is suspended, and the one that goes on.
const still, running = unix.CLOCK_MONOTONIC, unix.CLOCK_BOOTTIME
