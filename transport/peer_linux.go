package transport

import (
	"net"

	"golang.org/x/sys/unix"
)

// peerOf asks the kernel who is at the other end: its credentials when it
// connected, or when it began to listen.
func peerOf(c *net.UnixConn) (Peer, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return Peer{}, err
	}
	var cred *unix.Ucred
	var cerr error
	if err := raw.Control(func(fd uintptr) {
		cred, cerr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return Peer{}, err
	}
	if cerr != nil {
		return Peer{}, cerr
	}
	return Peer{Channel: "uds", UID: int(cred.Uid), PID: int(cred.Pid)}, nil
}
