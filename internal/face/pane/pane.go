package pane

import (
	"bytes"
	"os"
	"sync"

	"waggle/agent"
	"waggle/internal/cut"
	"waggle/internal/screen"
)

// Pane is the terminal of this process.
type Pane struct {
	in, out *os.File
	reading sync.Once // of keys, which goes on until this process ends: a read of a terminal cannot be cancelled

	mu         sync.Mutex
	tty        *os.File // our side of the program's terminal; nil: none runs
	cols, rows int
	recent     cut.Tail // of what the program wrote, by which is known what it shows
	wrote      int64
}

var _ agent.Display = (*Pane)(nil)

// New returns the pane whose keys in gives and whose screen out is.
func New(in, out *os.File) *Pane {
	return &Pane{in: in, out: out, cols: usualCols, rows: usualRows, recent: cut.Tail{Max: kept}}
}

// The size of a terminal that does not say its own.
const usualCols, usualRows = 120, 40

// kept is how much of what a program wrote is kept to know what it shows.
const kept = 256 << 10

// Shown implements agent.Display.
func (p *Pane) Shown() (lines []string, wrote int64) {
	p.mu.Lock()
	out, cols, rows, wrote := bytes.Clone(p.recent.Kept), p.cols, p.rows, p.wrote
	p.mu.Unlock()
	return screen.Of(out, cols, rows), wrote
}

// output shows what the program wrote.
func (p *Pane) output(b []byte) {
	_, _ = p.out.Write(b) // a terminal that is gone does not stop the program
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wrote += int64(len(b))
	_, _ = p.recent.Write(b) // it always succeeds
}
