//go:build unix

package teamcmd

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"waggle/spawn/terminal"
)

// sizes reports each change of a terminal's size, until stop, which waits for the goroutine.
func sizes(f *os.File) (resized <-chan terminal.Size, stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGWINCH)
	out, done, ended := make(chan terminal.Size, 1), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			case <-signals:
			}
			w, h, err := term.GetSize(int(f.Fd()))
			if err != nil {
				continue
			}
			select {
			case out <- terminal.Size{Cols: uint16(w), Rows: uint16(h)}:
			case <-done:
				return
			}
		}
	}()
	return out, func() {
		signal.Stop(signals)
		close(done)
		<-ended
	}
}
