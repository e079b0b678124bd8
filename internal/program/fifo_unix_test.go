//go:build unix

package program_test

import (
	"testing"

	"waggle/internal/test/testenv"

	"golang.org/x/sys/unix"
)

func mkfifo(t *testing.T, p string) {
	t.Helper()
	testenv.Must(t, unix.Mkfifo(p, 0o600))
}
