package agentcheck_test

import (
	"fmt"
	"os"
	"testing"

	"waggle/internal/test/testenv"
)

// serverVar makes this test binary the server of TestConnecting.
const serverVar = "AGENTCHECK_TEST_SERVER"

// serve is that server, where the tests of a system have one.
var serve func() error

// TestMain runs several checks at once, because most of their time is waiting. The time limits are for a
// slow machine: a check that must pass has a minute for each step.
func TestMain(m *testing.M) {
	if os.Getenv(serverVar) != "" {
		if err := serve(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	testenv.Overlap(8)
	os.Exit(m.Run())
}
