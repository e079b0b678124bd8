package peer_test

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"waggle/internal/peer"
	"waggle/internal/test/testenv"
)

// Both ends of a socket of this process have this process's credentials.
func TestOf(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("the kernel does not say")
	}
	dir, err := os.MkdirTemp("", "wp") // a short path: it has a socket
	testenv.Must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "s"), Net: "unix"})
	testenv.Must(t, err)
	defer l.Close()
	client, err := net.DialUnix("unix", nil, l.Addr().(*net.UnixAddr))
	testenv.Must(t, err)
	defer client.Close()
	server, err := l.AcceptUnix()
	testenv.Must(t, err)
	defer server.Close()
	want := peer.Cred{UID: os.Geteuid(), PID: os.Getpid()}
	for name, c := range map[string]*net.UnixConn{"client": client, "server": server} {
		if got, err := peer.Of(c); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, want)
		}
		if !peer.Ours(c) {
			t.Errorf("%s: not ours", name)
		}
	}
	server.Close()
	if peer.Ours(server) {
		t.Error("a closed socket is ours")
	}
}
