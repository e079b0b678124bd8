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
	var cred *unix.Xucred
	var cerr error
	err = raw.Control(func(fd uintptr) { cred, cerr = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED) })
	return err == nil && cerr == nil && int(cred.Uid) == os.Geteuid()
}
