//go:build unix

package teamcmd

import (
	"context"
	"os"
	"syscall"

	"golang.org/x/term"

	"waggle/internal/face/cli/app"
	"waggle/spawn/terminal"
)

// sizes reports each change of a terminal's size, until stop.
func sizes(f *os.File) (resized <-chan terminal.Size, stop func()) {
	out := make(chan terminal.Size, 1)
	return out, app.OnSignal(syscall.SIGWINCH, func(ctx context.Context) {
		w, h, err := term.GetSize(int(f.Fd()))
		if err != nil {
			return
		}
		select {
		case out <- terminal.Size{Cols: uint16(w), Rows: uint16(h)}:
		case <-ctx.Done():
		}
	})
}
