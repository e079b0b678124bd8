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

func options(t testing.TB) terminal.Options {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "wt") // a short path: it has a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return terminal.Options{Holder: []string{exe, "hold"}, Dir: dir, Rand: rand.Reader}
}
