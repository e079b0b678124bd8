package poll

import (
	"errors"
	"syscall"
)

var shortages = []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EIO, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EROFS, syscall.EAGAIN}

// Lack returns the error of a machine that is short of a resource for a moment (space,
// descriptors, memory), and nil for any other error. The caller retries.
func Lack(err error) error {
	for _, s := range shortages {
		if errors.Is(err, s) {
			return s
		}
	}
	return nil
}
