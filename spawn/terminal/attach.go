package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"waggle/internal/peer"
)

// Attach shows the terminal behind a holder's socket, beginning with its recent
// past, and types into it what In has, until the process ends (nil), Detach is
// typed (ErrDetached), or ctx ends. Several may be attached at once; the size is
// that of the last who said one, for a process in a pane always the pane's. The error matches fs.ErrNotExist, or is a refused
// connection, when no holder is there.
func Attach(ctx context.Context, socket string, s Screen) error {
	c, err := dialHolder(ctx, socket)
	if err != nil {
		return fmt.Errorf("attach: %w", err)
	}
	defer c.Close()
	if s.Size == (Size{}) {
		s.Size = defaultSize
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Now()) })
	defer stop()
	w := &frameWriter{w: c}
	if err := w.frame(frameHello, append([]byte{protocol}, s.Size.encode()...)); err != nil {
		return fmt.Errorf("attach: %w", err)
	}
	if s.In != nil {
		go w.keys(s.In, cancel)
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel(nil)
	wg.Go(func() { w.sizes(ctx, s.Resized) })
	err = show(c, s.Out)
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if err != nil {
		return fmt.Errorf("attach: %w", err)
	}
	return nil
}

// dialHolder connects to the socket of a holder, which is this user's.
func dialHolder(ctx context.Context, socket string) (*net.UnixConn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, err
	}
	c := conn.(*net.UnixConn)
	if !peer.Ours(c) {
		c.Close()
		return nil, errors.New("the socket is not this user's")
	}
	return c, nil
}

// show writes output until the process has ended.
func show(r io.Reader, w io.Writer) error {
	for {
		kind, body, err := readFrame(r)
		switch {
		case err != nil:
			return fmt.Errorf("the holder of the terminal ended: %w", err)
		case kind == frameEnd:
			return nil
		case kind == frameOutput:
			if _, err := w.Write(body); err != nil {
				return err
			}
		}
	}
}

// frameWriter writes whole frames from several goroutines.
type frameWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (w *frameWriter) frame(kind byte, body []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return writeFrame(w.w, kind, body)
}

// keys sends what is typed, up to Detach.
func (w *frameWriter) keys(in io.Reader, cancel context.CancelCauseFunc) {
	buf := make([]byte, 4096)
	for {
		n, err := in.Read(buf)
		typed, left := buf[:n], false
		for i, b := range typed {
			if b == Detach {
				typed, left = typed[:i], true
				break
			}
		}
		if len(typed) > 0 && w.frame(frameInput, typed) != nil {
			return
		}
		if left {
			cancel(ErrDetached)
		}
		if left || err != nil {
			return
		}
	}
}

func (w *frameWriter) sizes(ctx context.Context, resized <-chan Size) {
	for {
		select {
		case <-ctx.Done():
			return
		case s := <-resized:
			if w.frame(frameResize, s.encode()) != nil {
				return
			}
		}
	}
}

// Detach is what a person types to leave a terminal: Control and ].
const Detach = 0x1d

// ErrDetached means that the viewer left and the process continues.
var ErrDetached = errors.New("detached")

// Screen is what a terminal is shown on.
type Screen struct {
	In  io.Reader // keys; nil shows only. Attach does not wait for a Read that blocks
	Out io.Writer
	// Size is how large it is; the zero Size is that of a common terminal.
	Size Size
	// Resized has a value when the size has changed; may be nil.
	Resized <-chan Size
}

// defaultSize is a terminal's size until a viewer with a screen attaches.
var defaultSize = Size{Cols: 120, Rows: 40}

// DefaultSize is a terminal's size until a viewer with a screen attaches.
func DefaultSize() Size { return defaultSize }

// Recent is how many bytes of earlier output a new viewer gets.
const Recent = 64 << 10
