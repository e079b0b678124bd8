package testenv

import (
	"runtime"
	"testing"
	"time"
)

// Eventually waits until cond holds, and fails the test when it does not within a minute, with what
// shown says and the stacks of this program.
// It is for what another process or the system does and never announces; what this
// program does is waited for by a channel, or in a synctest bubble.
func Eventually(t testing.TB, what string, cond func() bool, shown ...func() string) {
	t.Helper()
	if WaitFor(time.Minute, cond) {
		return
	}
	t.Errorf("never: %s", what)
	for _, show := range shown {
		t.Log(show()) // it may end the test
	}
	stacks := make([]byte, 256<<10)
	t.Fatalf("%s", stacks[:runtime.Stack(stacks, true)])
}

// WaitFor reports whether cond holds within a time: Eventually for a wait whose vain end the caller reports.
func WaitFor(limit time.Duration, cond func() bool) bool {
	for began := time.Now(); !cond(); {
		waited := time.Since(began)
		if waited > limit {
			return false
		}
		time.Sleep(min(max(waited/10, 2*time.Millisecond), 200*time.Millisecond)) // a look may start a program, which what it waits for would miss
	}
	return true
}
