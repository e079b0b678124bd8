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

// onHangup makes the loss of the terminal (SIGHUP) mean the same as waggle detach: the process that
// leads hands over to one in the background. stop ends the watch, and waits for it. A program that
// was started with SIGHUP ignored, by nohup, continues.
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
		// From here on nothing reads the output, and that must not end the program.
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

// withoutHangup keeps a process that leads without a terminal from ending with its session. The
// programs that it starts do not inherit that.
func withoutHangup() (stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP) // nothing reads the channel; a signal that does not fit is dropped
	return func() { signal.Stop(c) }
}
