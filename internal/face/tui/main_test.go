package tui_test

import (
	"os"
	"testing"

	"waggle/internal/test/testenv"
)

func TestMain(m *testing.M) {
	testenv.Overlap(1)
	os.Exit(m.Run())
}
