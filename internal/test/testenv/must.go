package testenv

import "testing"

// Must ends a test, or a case of rapid's, that cannot go on with an error.
func Must(t interface {
	Helper()
	Fatal(args ...any)
}, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Value returns what a call returned, and ends the test on its error: Value(op.Open(ctx, name, mode))(t).
func Value[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		Must(t, err)
		return v
	}
}
