//go:build !linux && !darwin

package peer

import (
	"errors"
	"fmt"
	"net"
)

// Of returns an error: this kernel does not report the credentials of the other end, so every peer
// is refused.
func Of(*net.UnixConn) (Cred, error) {
	return Cred{}, fmt.Errorf("this system does not report the process at the other end of a socket: %w", errors.ErrUnsupported)
}
