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
	var cred Cred
	var uerr error
	if err := raw.Control(func(fd uintptr) {
		var u *unix.Xucred
		if u, uerr = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED); uerr != nil {
			return
		}
		cred.UID = int(u.Uid)
		cred.PID, uerr = unix.GetsockoptInt(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	}); err != nil {
		return Cred{}, err
	}
	return cred, uerr
}
