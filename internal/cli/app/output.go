package app

import (
	"io"
	"os"
	"sync"
)

// output is a stream that keeps the error of the first failed write, because callers that write
// lines for people do not check it.
type output struct {
	w  io.Writer
	mu sync.Mutex
	e  error
}

// terminalOutput is an output with the file descriptor that libraries ask for.
type terminalOutput struct {
	*output
	f fileLike
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
}

// WatchOutput returns a stream that keeps its first error. It still offers the file behind it.
func WatchOutput(w io.Writer) remembers {
	if have, ok := w.(remembers); ok {
		return have
	}
	o := &output{w: w}
	if f, ok := w.(fileLike); ok {
		return &terminalOutput{output: o, f: f}
	}
	return o
}

func (o *output) Write(b []byte) (int, error) {
	n, err := o.w.Write(b)
	if err != nil {
		o.mu.Lock()
		if o.e == nil {
			o.e = err
		}
		o.mu.Unlock()
	}
	return n, err
}

func (o *output) Failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.e
}

func (t *terminalOutput) Fd() uintptr { return t.f.Fd() }

func (t *terminalOutput) Read(b []byte) (int, error) { return t.f.Read(b) }

func (t *terminalOutput) Close() error { return t.f.Close() }

// File returns the file itself, for a program that is given the terminal.
func (t *terminalOutput) File() *os.File { return File(t.w) }
