//go:build unix

package program_test

import (
	"testing"

	"golang.org/x/sys/unix"
)

func mkfifo(t *testing.T, p string) {
	t.Helper()
	if err := unix.Mkfifo(p, 0o600); err != nil {
		t.Fatal(err)
	}
}
