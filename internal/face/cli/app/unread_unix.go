//go:build unix

package app

import (
	"context"
	"os"

	"golang.org/x/sys/unix"
)

// readerLook is how long one look at an output waits, in milliseconds.
const readerLook = 250

// untilUnread waits until nobody reads an output any more, or ctx ends.
func untilUnread(ctx context.Context, f *os.File) {
	fd := int32(f.Fd())
	for ctx.Err() == nil {
		p := []unix.PollFd{{Fd: fd}} // errors and hang-ups are reported without being asked for
		n, err := unix.Poll(p, readerLook)
		if n > 0 || err != nil && err != unix.EINTR {
			return
		}
	}
}
