package ask

import "golang.org/x/sys/unix"

const (
	getTermios      = unix.TCGETS
	setTermios      = unix.TCSETS
	setTermiosFlush = unix.TCSETSF
)

// drain waits until what was written has left, which is tcdrain. A terminal that is gone
// has nothing to wait for.
func drain(fd int) { _ = unix.IoctlSetInt(fd, unix.TCSBRK, 1) }

func flushInput(fd int) { _ = unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH) }
