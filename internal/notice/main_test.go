package notice_test

import (
	"os"
	"testing"

	"waggle/internal/test/testenv"
)

func TestMain(m *testing.M) {
	testenv.Overlap(3)
	os.Exit(m.Run())
}

// must ends a test for an error of what it needs.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
