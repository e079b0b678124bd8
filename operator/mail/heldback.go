package mail

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"waggle/internal/fs/atomicfile"
	"waggle/mailbox"
)

// heldBack returns why a recorded message is not in its mailbox yet, "" when that is no error to
// report: a member that waggle runs gets it from the journal all the same.
func heldBack(err error) string {
	var locked *mailbox.LockedError
	var mixed *mailbox.MixedError
	switch {
	case errors.As(err, &locked):
		return "its mailbox is locked; it is sent as soon as that ends"
	case errors.Is(err, fs.ErrNotExist):
		return "the team's directory is gone; the member fetches it from the record"
	case errors.Is(err, atomicfile.ErrNotRegular), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ELOOP), errors.As(err, &mixed):
		return fmt.Sprintf("its mailbox cannot be used (%v); the member fetches it from the record", err)
	}
	return ""
}
