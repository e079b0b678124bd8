package testenv

import (
	"runtime"
	"testing"
	"time"
)

// Eventually waits until cond holds, and fails the test when it does not within a minute, with the
// stacks of this program.
// It is for what another process or the system does and never announces; what this
// program does is waited for by a channel, or in a synctest bubble.
func Eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	pause := 2 * time.Millisecond
	for end := time.Now().Add(time.Minute); !cond(); time.Sleep(pause) {
		pause = min(pause*5/4, 50*time.Millisecond) // a look may start a program, which what it waits for would miss
		if time.Now().After(end) {
			stacks := make([]byte, 256<<10)
			t.Fatalf("never: %s\n%s", what, stacks[:runtime.Stack(stacks, true)])
		}
	}
}
