//go:build !linux && !darwin

package peer

import (
	"errors"
	"fmt"
)

func of(int) (Cred, error) {
	return Cred{}, fmt.Errorf("this system does not report the process at the other end of a socket: %w", errors.ErrUnsupported)
}
