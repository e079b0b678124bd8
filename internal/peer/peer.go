// Package peer asks the kernel who is at the other end of a Unix socket: their
// credentials when they connected, or when they began to listen.
package peer

import (
	"net"
	"os"
)

// Cred is who is at the other end.
type Cred struct{ UID, PID int }

// Ours reports that the other end is a process of this user; false also where the
// kernel does not say.
func Ours(c *net.UnixConn) bool {
	cred, err := Of(c)
	return err == nil && cred.UID == os.Geteuid()
}
