//go:build unix

package testenv

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpu is the processor time that this process has used.
func cpu() time.Duration {
	var used unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
