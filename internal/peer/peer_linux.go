package peer

import (
	"net"

	"golang.org/x/sys/unix"
)

// Of returns the credentials of the other end.
func Of(c *net.UnixConn) (Cred, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return Cred{}, err
	}
	var u *unix.Ucred
	var uerr error
	if err := raw.Control(func(fd uintptr) {
		u, uerr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return Cred{}, err
	}
	if uerr != nil {
		return Cred{}, uerr
	}
	return Cred{UID: int(u.Uid), PID: int(u.Pid)}, nil
}
