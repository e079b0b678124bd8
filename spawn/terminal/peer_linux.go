package terminal

import (
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// ours reports that the other side of a socket is a process of this user.
func ours(c *net.UnixConn) bool {
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	var cred *unix.Ucred
	var cerr error
	err = raw.Control(func(fd uintptr) { cred, cerr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	return err == nil && cerr == nil && int(cred.Uid) == os.Geteuid()
}
