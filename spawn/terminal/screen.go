package terminal

import (
	"errors"
	"io"
)

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
