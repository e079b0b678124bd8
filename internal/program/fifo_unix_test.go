//go:build unix

package program_test

import (
	"testing"

	"golang.org/x/sys/unix"
)

func mkfifo(t *testing.T, p string) {
	t.Helper()
	must(t, unix.Mkfifo(p, 0o600))
}
