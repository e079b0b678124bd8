package testenv

import (
	"os"
	"testing"
	"time"
)

// FullVar is the one switch between the usual tests and all of them, at their full sizes.
const FullVar = "WAGGLE_TEST"

// Full reports whether all tests run at their full sizes: with WAGGLE_TEST=full, which .ci/full sets.
func Full() bool { return os.Getenv(FullVar) == "full" }

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
