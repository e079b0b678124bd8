//go:build unix

package cli

import (
	"os"
	"syscall"
)

// signalCode is the code, as shells have it, of a process that a signal ended.
func signalCode(s *os.ProcessState) int {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return 1
}
