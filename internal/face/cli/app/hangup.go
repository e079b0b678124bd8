package app

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// hangup is what this process does when its terminal is gone (SIGHUP).
type hangup struct {
	mu      sync.Mutex // also held while instead runs
	instead func()     // nil: the command's context ends
}

// WatchHangup returns a context that ends, as with Ctrl-C, when the terminal is gone, unless the
// command has something else to do then (OnHangup). A program that was started with SIGHUP ignored,
// by nohup, continues. stop ends the watch, and waits for it.
func (a *App) WatchHangup(ctx context.Context) (watched context.Context, stop func()) {
	if signal.Ignored(syscall.SIGHUP) {
		return ctx, func() {}
	}
	watched, cancel := context.WithCancelCause(ctx)
	end := OnSignal(syscall.SIGHUP, func(context.Context) {
		a.hangup.mu.Lock()
		defer a.hangup.mu.Unlock()
		if a.hangup.instead == nil {
			cancel(errors.New("the terminal is gone"))
			return
		}
		a.hangup.instead()
	})
	return watched, func() {
		end()
		cancel(nil)
	}
}

// OnSignal calls f for each of a signal. stop ends that, and the context of f, and waits for f.
func OnSignal(s os.Signal, f func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	c := make(chan os.Signal, 1)
	signal.Notify(c, s)
	var watch sync.WaitGroup
	watch.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-c:
				f(ctx)
			}
		}
	})
	return func() {
		signal.Stop(c)
		cancel()
		watch.Wait()
	}
}

// OnHangup has f called when the terminal is gone; the command's context does not end then. stop ends
// the context of f, waits for f, and has the context end again.
func (a *App) OnHangup(ctx context.Context, f func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	a.hangup.mu.Lock()
	defer a.hangup.mu.Unlock()
	a.hangup.instead = func() { f(ctx) }
	return func() {
		cancel()
		a.hangup.mu.Lock()
		defer a.hangup.mu.Unlock()
		a.hangup.instead = nil
	}
}
