package spawn

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// awaitExit returns when the kernel says that the process has ended, when ctx is done,
// or at once when there is no pidfd to be told by (Linux 5.3).
func awaitExit(ctx context.Context, id Identity) {
	fd, err := unix.PidfdOpen(id.PID, 0)
	if err != nil {
		return
	}
	if err := unix.SetNonblock(fd, true); err != nil { // so that no thread waits in it
		unix.Close(fd)
		return
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	defer f.Close()
	if id.Ended() { // ended before the pidfd was opened, which is then another process's
		return
	}
	stop := context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	c, err := f.SyscallConn()
	if err != nil {
		return
	}
	_ = c.Read(func(fd uintptr) bool { // its error is the deadline, or a file that cannot be waited for
		ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(ready, 0)
		return err != nil && err != unix.EINTR || n > 0
	})
}
