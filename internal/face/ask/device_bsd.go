//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package ask

import "golang.org/x/sys/unix"

const (
	getTermios      = unix.TIOCGETA
	setTermios      = unix.TIOCSETA
	setTermiosFlush = unix.TIOCSETAF
)

const fread = 1 // <sys/fcntl.h>: the input queue, for TIOCFLUSH

// drain waits until what was written has left, which is tcdrain. A terminal that is gone
// has nothing to wait for.
func drain(fd int) { _ = unix.IoctlSetInt(fd, unix.TIOCDRAIN, 0) }

func flushInput(fd int) { _ = unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, fread) }
