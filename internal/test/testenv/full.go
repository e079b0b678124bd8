package testenv

import (
	"os"
	"testing"
	"time"
)

// TestVar is the one switch between the usual tests and larger runs.
const TestVar = "WAGGLE_TEST"

// Full reports whether all tests run, with whole tables: WAGGLE_TEST=full, as .ci/full sets it, or soak.
func Full() bool { return os.Getenv(TestVar) == "full" || Soak() }

// Soak reports whether the tests run at the sizes of make soak, which take hours: WAGGLE_TEST=soak.
func Soak() bool { return os.Getenv(TestVar) == "soak" }

// Long skips a test of the full run: it starts dozens of processes, tries a table of hundreds, fills a disk,
// depends on the times of a terminal, or runs a real client.
func Long(t testing.TB) {
	t.Helper()
	if !Full() {
		t.Skip("a test of the full run: WAGGLE_TEST=full")
	}
}

// OneGoroutine skips a long table that one goroutine works through when the race detector is on, which it has
// nothing to show: the same table is tried without it.
func OneGoroutine(t testing.TB) {
	t.Helper()
	if Slow > 1 {
		t.Skip("one goroutine: the race detector is on, and has nothing to find")
	}
}

// Within logs how long something took on the wall clock. In the full run it fails the test when that was
// longer than the limit. Otherwise a machine may be slow: the usual tests assert order, counts and records.
func Within(t testing.TB, what string, took, limit time.Duration) {
	t.Helper()
	if Full() && took > limit {
		t.Errorf("%s took %s, the limit is %s", what, took, limit)
		return
	}
	t.Logf("%s took %s", what, took.Round(time.Millisecond))
}
