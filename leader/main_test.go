package leader_test

import (
	"testing"

	"go.uber.org/goleak"

	"waggle/spawn/spawntest"
)

func TestMain(m *testing.M) {
	spawntest.Main()
	goleak.VerifyTestMain(m)
}
