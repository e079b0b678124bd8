package spawn

import "os"

// Mine reports whether a process belongs to the user that this program runs as. It returns false
// for root too, whom the system would let signal it. The error matches ErrGone when there is no
// process with this pid, and errors.ErrUnsupported elsewhere than on Linux and macOS.
func Mine(pid int) (bool, error) {
	uid, err := uint32(0), ErrGone
	if pid > 0 {
		uid, err = owner(pid)
	}
	return err == nil && uid == uint32(os.Getuid()), failed(err, "owner of %d", pid)
}
