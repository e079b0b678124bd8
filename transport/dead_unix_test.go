//go:build unix

package transport_test

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/transport"
)

// deadSocket makes a socket on which no process listens.
func deadSocket(t *testing.T, path string) string {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	must(t, err)
	l.SetUnlinkOnClose(false)
	l.Close()
	return path
}

// TestDead: the socket of a program that was killed is found and removed with its key; a socket
// with a listener, and a file that is not a socket, stay.
func TestDead(t *testing.T) {
	t.Parallel()
	p := newDirs(t)
	s := serve(t, p, "ann", newHost("ann"))
	killed := deadSocket(t, p.Path("bob"))
	file := p.Path("eve")
	for _, f := range []string{file, filepath.Join(p.Keys, "bob.json")} {
		must(t, os.WriteFile(f, []byte("{}"), 0o600))
	}
	// A program that another test starts has a copy of the listener until its exec.
	testenv.Eventually(t, "only the socket of the killed program is dead", func() bool {
		dead, err := p.Dead()
		must(t, err)
		return slices.Equal(dead, []string{killed})
	})
	for path, want := range map[string]bool{killed: true, s.Path(): false, file: false} {
		if got, err := p.RemoveDead(path); got != want || err != nil {
			t.Errorf("remove %s: %v, %v", path, got, err)
		}
	}
	if got, err := p.RemoveDead(killed); got || err != nil {
		t.Errorf("again: %v, %v", got, err)
	}
	for path, want := range map[string]bool{killed: false, filepath.Join(p.Keys, "bob.json"): false, s.Path(): true, filepath.Join(p.Keys, "ann.json"): true, file: true} {
		if _, err := os.Lstat(path); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	if dead, err := (transport.SocketDirs{Dir: filepath.Join(p.Dir, "none"), Keys: p.Keys}).Dead(); err != nil || len(dead) > 0 {
		t.Errorf("no directory: %q, %v", dead, err)
	}
}
