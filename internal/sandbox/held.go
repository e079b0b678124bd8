//go:build unix

package sandbox

import "io"

// heldOutput keeps what is written before a command has begun: the words of bubblewrap about a
// sandbox that it could not build.
type heldOutput struct {
	to    io.Writer
	begun func() bool
	text  []byte
}

func (h *heldOutput) Write(p []byte) (int, error) {
	if !h.begun() {
		h.text = append(h.text, p[:min(len(p), heldMost-len(h.text))]...)
		return len(p), nil
	}
	if err := h.flush(); err != nil {
		return 0, err
	}
	return h.to.Write(p)
}

// heldMost is more than bubblewrap says.
const heldMost = 64 << 10

// flush writes what was kept.
func (h *heldOutput) flush() error {
	if len(h.text) == 0 {
		return nil
	}
	text := h.text
	h.text = nil
	_, err := h.to.Write(text)
	return err
}
