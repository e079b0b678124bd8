//go:build unix

package pane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"waggle/agent"
	"waggle/spawn"
)

// drainWait is how long output is waited for after the program has ended, when something else still
// has its terminal open.
const drainWait = time.Second

// restored undoes what programs that fill the screen do to a terminal: its other screen, a hidden
// cursor, reports of the mouse, of focus and of pastes, colours.
const restored = "\x1b[?1049l\x1b[?25h\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1006l\x1b[?2004l\x1b[<u\x1b[0m\r\n"

// Run implements agent.Display.
func (p *Pane) Run(ctx context.Context, by agent.Exec, c spawn.Command) (spawn.Exit, error) {
	ours, theirs, err := open()
	if err != nil {
		return spawn.Exit{Code: -1}, fmt.Errorf("pane: %w", err)
	}
	p.begin(ours)
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	over := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-resized:
				p.fit(ours)
			case <-over:
				return
			}
		}
	})
	drained := make(chan struct{})
	wg.Go(func() {
		defer close(drained)
		p.carry(ours)
	})
	defer p.raw()()
	c.Terminal = theirs
	exit, err := by.Run(ctx, c)
	_ = theirs.Close()
	select {
	case <-drained:
	case <-time.After(drainWait):
	}
	signal.Stop(resized)
	close(over)
	p.end()
	_ = ours.Close() // what is left on it hangs up
	wg.Wait()
	return exit, err
}

// open makes a terminal. A read of our side ends when it is closed.
func open() (ours, theirs *os.File, err error) {
	blocking, theirs, err := pty.Open()
	if err != nil {
		return nil, nil, err
	}
	defer blocking.Close()
	fd, err := unix.FcntlInt(blocking.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		return nil, nil, errors.Join(err, theirs.Close())
	}
	return os.NewFile(uintptr(fd), blocking.Name()), theirs, nil
}

// resize gives a terminal a size, without a change to how it is read.
func resize(tty *os.File, cols, rows int) {
	c, err := tty.SyscallConn()
	if err != nil {
		return
	}
	_ = c.Control(func(fd uintptr) {
		_ = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(cols), Row: uint16(rows)})
	})
}

// begin takes the terminal of a new program.
func (p *Pane) begin(ours *os.File) {
	p.mu.Lock()
	p.tty, p.recent.Kept = ours, nil
	p.mu.Unlock()
	p.fit(ours)
	p.reading.Do(func() { go p.keys() })
}

func (p *Pane) end() { p.mu.Lock(); defer p.mu.Unlock(); p.tty = nil }

// carry shows the output until the terminal closes.
func (p *Pane) carry(ours *os.File) {
	buf := make([]byte, 32<<10)
	for {
		n, err := ours.Read(buf)
		if n > 0 {
			p.output(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

// keys gives what is typed to the program that runs. What is typed while none does is dropped.
func (p *Pane) keys() {
	buf := make([]byte, 4<<10)
	for {
		n, err := p.in.Read(buf)
		p.mu.Lock()
		to := p.tty
		p.mu.Unlock()
		if to != nil && n > 0 {
			_, _ = to.Write(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

// raw makes the terminal pass every key on, until restore.
func (p *Pane) raw() (restore func()) {
	old, err := term.MakeRaw(int(p.in.Fd()))
	if err != nil {
		return func() {} // not a terminal
	}
	return func() {
		_, _ = p.out.WriteString(restored)
		_ = term.Restore(int(p.in.Fd()), old)
	}
}

// fit gives the program's terminal the size of ours.
func (p *Pane) fit(ours *os.File) {
	cols, rows, err := term.GetSize(int(p.out.Fd()))
	if err != nil || cols <= 0 || rows <= 0 {
		cols, rows = usualCols, usualRows
	}
	p.mu.Lock()
	p.cols, p.rows = cols, rows
	p.mu.Unlock()
	resize(ours, cols, rows)
}
