//go:build unix

package terminal

import (
	"io"
)

// viewer is an attached viewer. Output that it does not read in time is lost to it: the process
// never waits for it.
type viewer struct {
	out  chan []byte
	done chan struct{} // closed when the viewer gets no more output
}

// viewerQueue is how many pieces of output may wait for one viewer.
const viewerQueue = 256

// join sends the terminal's output to w from now on, beginning with its recent output, and calls
// end, if there is one, when there is no more.
func (h *holder) join(w io.Writer, end func()) *viewer {
	v := &viewer{out: make(chan []byte, viewerQueue), done: make(chan struct{})}
	h.mu.Lock()
	past := append([]byte(nil), h.recent...)
	if h.viewers == nil {
		close(v.out)
	} else {
		h.viewers[v] = true
	}
	h.mu.Unlock()
	go func() {
		defer close(v.done)
		_, err := w.Write(past)
		for b := range v.out {
			if err == nil {
				_, err = w.Write(b)
			}
		}
		if err == nil && end != nil {
			end()
		}
	}()
	return v
}

// offer gives a viewer output without waiting for it. The holder is locked.
func (v *viewer) offer(b []byte) {
	select {
	case v.out <- append([]byte(nil), b...):
	default:
	}
}

// leave ends a viewer's view; it may be called twice.
func (h *holder) leave(v *viewer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.viewers[v] {
		delete(h.viewers, v)
		close(v.out)
	}
}

// end ends every view: the process has ended.
func (h *holder) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for v := range h.viewers {
		close(v.out)
	}
	h.viewers = nil
}
