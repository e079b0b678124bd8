package testenv

import "testing"

// Whole is called by a test that runs whole teams, or for many seconds, and that every usual run needs:
// with -short it is skipped, as the aim of go test -short ./... is a minute. Drawn is for the others.
func Whole(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("it runs whole teams, or for long: without -short")
	}
}

// Brief returns usual, or with -short brief: the size of a test of which a part is enough
// there, or the step of its Sample.
func Brief(usual, brief int) int {
	if testing.Short() && !Soak() {
		return brief
	}
	return usual
}
