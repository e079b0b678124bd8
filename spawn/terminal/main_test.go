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

// must ends a test for an error of what it needs.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func options(t testing.TB) terminal.Options {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	dir, err := os.MkdirTemp("", "wt") // a short path: it has a socket
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return terminal.Options{Holder: []string{exe, "hold"}, Dir: dir, Rand: rand.Reader}
}
