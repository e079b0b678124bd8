//go:build unix

package teamcmd

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"waggle/operator"
	"waggle/operator/supervise"
)

// onHangup has a terminal that goes away (SIGHUP) mean the same as waggle detach: the
// process that leads hands over to one in the background. stop ends the watch, and waits
// for it. A program that was started with SIGHUP ignored, by nohup, goes on as it is.
func onHangup(ctx context.Context, op operator.Operator, s *operator.State) (stop func()) {
	if signal.Ignored(syscall.SIGHUP) {
		return func() {}
	}
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP)
	watch, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-watch.Done():
			return
		case <-c:
		}
		// Nobody reads what is said from here on, and that ends nothing.
		signal.Ignore(syscall.SIGPIPE)
		if err := supervise.Of(op).LeaveTerminal(watch, s); err != nil && !errors.Is(err, context.Canceled) && op.Log != nil {
			op.Log.Error("the terminal is gone, and the team is not led from the background", "team", s.Team, "err", err)
		}
	}()
	return func() {
		cancel()
		<-ended
		signal.Stop(c)
	}
}

// withoutHangup keeps a process that leads without a terminal from ending with the
// session that it was started in. What it starts does not inherit that.
func withoutHangup() (stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP) // nobody reads it; a signal that does not fit is dropped
	return func() { signal.Stop(c) }
}
