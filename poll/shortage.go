package poll

import (
	"errors"
	"syscall"
)

var shortages = []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EIO, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EROFS, syscall.EAGAIN}

// Lack returns the error of a machine that has too little of something for a moment
// (space, descriptors, memory), and nil for any other. It fails nothing for good: who meets
// it tries again.
func Lack(err error) error {
	for _, s := range shortages {
		if errors.Is(err, s) {
			return s
		}
	}
	return nil
}
