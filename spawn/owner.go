package spawn

import (
	"fmt"
	"os"
)

// Mine reports whether a process belongs to the user that this program runs as. It returns false
// for root too, whom the system would let signal it. The error matches ErrGone when there is no
// process with this pid, and errors.ErrUnsupported elsewhere than on Linux and macOS.
func Mine(pid int) (bool, error) {
	if pid <= 0 {
		return false, fmt.Errorf("spawn: owner of %d: %w", pid, ErrGone)
	}
	uid, err := owner(pid)
	if err != nil {
		return false, fmt.Errorf("spawn: owner of %d: %w", pid, err)
	}
	return uid == uint32(os.Getuid()), nil
}
