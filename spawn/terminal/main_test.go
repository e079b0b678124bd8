package terminal_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"syscall"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/spawn/spawntest"
	"waggle/spawn/terminal"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "hold" {
		code, err := terminal.Hold(context.Background(), os.Args[2], os.Stdin, os.Environ())
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		syscall.Exit(code) // os.Exit of a race build takes a second
	}
	itermPrograms()
	spawntest.Main()
	testenv.Overlap(3)
	os.Exit(m.Run())
}

// shortDir is a directory for a socket.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "wt")
	testenv.Must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func options(t testing.TB) terminal.Options {
	t.Helper()
	exe, err := os.Executable()
	testenv.Must(t, err)
	return terminal.Options{Holder: []string{exe, "hold"}, Dir: shortDir(t), Rand: rand.Reader}
}
