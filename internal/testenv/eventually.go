package testenv

import (
	"testing"
	"time"
)

// Eventually waits until cond holds, and fails the test when it does not within a minute.
// It is for what another process or the system does and never announces; what this
// program does is waited for by a channel, or in a synctest bubble.
func Eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !cond(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}
