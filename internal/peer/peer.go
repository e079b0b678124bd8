// Package peer asks the kernel who is at the other end of a Unix socket: their
// credentials when they connected, or when they began to listen.
package peer

import (
	"errors"
	"net"
	"os"
)

// Cred is who is at the other end.
type Cred struct{ UID, PID int }

// Of returns the credentials of the other end. Where the kernel does not report them it is an error, so that every peer
// is refused.
func Of(c *net.UnixConn) (cred Cred, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return Cred{}, err
	}
	var uerr error
	err = raw.Control(func(fd uintptr) { cred, uerr = of(int(fd)) })
	return cred, errors.Join(err, uerr)
}

// Ours reports that the other end is a process of this user; false also where the
// kernel does not say.
func Ours(c *net.UnixConn) bool {
	cred, err := Of(c)
	return err == nil && cred.UID == os.Geteuid()
}
