package spawn_test

import (
	"errors"
	"os"
	"runtime"
	"testing"

	"waggle/spawn"
)

func TestMine(t *testing.T) {
	t.Parallel()
	mine, err := spawn.Mine(os.Getpid())
	if errors.Is(err, errors.ErrUnsupported) && runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip(err)
	}
	if err != nil || !mine {
		t.Errorf("this process: %v, %v", mine, err)
	}
	for _, pid := range []int{0, -1, 1 << 22} {
		if mine, err := spawn.Mine(pid); mine || !errors.Is(err, spawn.ErrGone) {
			t.Errorf("%d: %v, %v", pid, mine, err)
		}
	}
	// Process 1 belongs to root on every system, so Mine is false for other users.
	if os.Getuid() == 0 {
		return
	}
	if mine, err := spawn.Mine(1); mine || err != nil {
		t.Errorf("process 1: %v, %v", mine, err)
	}
}
