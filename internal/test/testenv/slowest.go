package testenv

import (
	"os/exec"
	"time"
)

// Slowest measures from now on how long this machine takes to run a program that does
// nothing, over and over. The result ends that and returns the longest run: a few
// milliseconds on a machine with time to spare, much more on one without.
func Slowest() (end func() time.Duration) {
	stop, worst := make(chan struct{}), make(chan time.Duration)
	go func() {
		longest := time.Duration(0)
		for {
			began := time.Now()
			_ = exec.Command("true").Run()
			longest = max(longest, time.Since(began))
			select {
			case <-stop:
				worst <- longest
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	return func() time.Duration {
		close(stop)
		return <-worst
	}
}
