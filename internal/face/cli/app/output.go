package app

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// output is a stream that keeps the error of the first failed write, because callers that write
// lines for people do not check it.
type output struct {
	w    io.Writer
	mu   sync.Mutex
	e    error
	then func() // called after it
}

// OutliveReaders keeps this process from ending by SIGPIPE when nobody reads its output any more: the
// write fails, and what the command does is done to its end. Programs that it starts do not inherit that.
func OutliveReaders() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // nothing reads the channel; a signal that does not fit is dropped
}

// Unread is the error of a write, nil when nobody reads the output any more: that is no failure of a
// command, whose reader (head, less) had enough.
func Unread(err error) error {
	if errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}

// Put writes a text as it is to stdout.
func (a *App) Put(text string) error {
	_, err := io.WriteString(a.Out, text)
	return Unread(err)
}

// Shown reports that all output so far was written, to somebody who reads it.
func (a *App) Shown() bool {
	o, ok := a.Out.(remembers)
	return !ok || o.Failed() == nil
}

// WhileShown returns a context that ends with the first output that cannot be written, or when nobody
// reads the output any more, for a command that only shows what happens. stop releases it.
func (a *App) WhileShown(ctx context.Context) (while context.Context, stop func()) {
	while, cancel := context.WithCancel(ctx)
	if o, ok := a.Out.(remembers); ok {
		o.onFailure(cancel)
	}
	f := File(a.Out)
	if f == nil {
		return while, cancel
	}
	var looks sync.WaitGroup
	looks.Go(func() {
		untilUnread(while, f)
		cancel()
	})
	return while, func() { cancel(); looks.Wait() }
}

// terminalOutput is an output with the file descriptor that libraries ask for.
type terminalOutput struct {
	*output
	fileLike
}

type fileLike interface {
	Fd() uintptr
	Read([]byte) (int, error)
	Close() error
}

// remembers is the interface of WatchOutput's streams.
type remembers interface {
	io.Writer
	Failed() error
	onFailure(func())
}

// WatchOutput returns a stream that keeps its first error. It still offers the file behind it.
func WatchOutput(w io.Writer) remembers {
	if have, ok := w.(remembers); ok {
		return have
	}
	o := &output{w: w, then: func() {}}
	if f, ok := w.(fileLike); ok {
		return &terminalOutput{o, f}
	}
	return o
}

func (o *output) Write(b []byte) (int, error) {
	n, err := o.w.Write(b)
	if err != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.e == nil {
			o.e = err
			o.then()
		}
	}
	return n, err
}

// onFailure has f called after the first failed write.
func (o *output) onFailure(f func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.then = f; o.e != nil {
		f()
	}
}

func (o *output) Failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.e
}

// File returns the file itself, for a program that is given the terminal.
func (t *terminalOutput) File() *os.File { return File(t.w) }
