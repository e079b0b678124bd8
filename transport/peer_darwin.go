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
	p := Peer{Channel: "uds"}
	var cerr error
	if err := raw.Control(func(fd uintptr) {
		var cred *unix.Xucred
		if cred, cerr = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED); cerr != nil {
			return
		}
		p.UID = int(cred.Uid)
		p.PID, cerr = unix.GetsockoptInt(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	}); err != nil {
		return Peer{}, err
	}
	return p, cerr
}
