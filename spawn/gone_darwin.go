package spawn

import (
	"context"

	"golang.org/x/sys/unix"
)

// awaitExit returns when the kernel says that the process has ended, when ctx is done,
// or at once when there is no kqueue to be told by.
func awaitExit(ctx context.Context, id Identity) {
	kq, err := unix.Kqueue()
	if err != nil {
		return
	}
	defer unix.Close(kq)
	unix.CloseOnExec(kq)
	watch := make([]unix.Kevent_t, 2)
	unix.SetKevent(&watch[0], id.PID, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
	watch[0].Fflags = unix.NOTE_EXIT
	unix.SetKevent(&watch[1], 0, unix.EVFILT_USER, unix.EV_ADD|unix.EV_CLEAR)
	if _, err := unix.Kevent(kq, watch, nil, nil); err != nil || id.Ended() {
		return
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		wake := watch[1:2:2]
		unix.SetKevent(&wake[0], 0, unix.EVFILT_USER, 0)
		wake[0].Fflags = unix.NOTE_TRIGGER
		_, _ = unix.Kevent(kq, wake, nil, nil)
	})
	defer func() {
		if !stop() {
			<-ended // before the queue is closed
		}
	}()
	news := make([]unix.Kevent_t, 1)
	for {
		_, err := unix.Kevent(kq, nil, news, nil)
		if err != unix.EINTR {
			return
		}
	}
}
