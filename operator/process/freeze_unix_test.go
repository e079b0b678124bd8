//go:build unix

package process_test

import (
	"syscall"
	"testing"

	"waggle/spawn"
)

// freeze stops a process as a terminal does.
func freeze(t *testing.T, id spawn.Identity) {
	t.Helper()
	if err := syscall.Kill(id.PID, syscall.SIGSTOP); err != nil {
		t.Error(err)
	}
}
