package testenv

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
