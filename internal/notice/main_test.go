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
