//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package ask

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// mark is the value of VTIME that tells our modes from those of other programs: a
// process that was killed leaves it behind. With VMIN 1 it has no effect on a read that
// has something to return.
const mark = 73

type unixDevice struct {
	in, out *os.File
	fd      int
	plain   bool
	old     *unix.Termios // the modes to restore; nil: unknown. Modes that are marked later are ours
	r, w    int           // a pipe that ends wait
	mu      sync.Mutex    // of w
}

func newDevice(in, out *os.File, plain bool) (device, error) {
	if !term.IsTerminal(int(in.Fd())) || !term.IsTerminal(int(out.Fd())) {
		return nil, errors.New("ask: not a terminal")
	}
	if !sameTerminal(in, out) {
		return nil, errors.New("ask: what is typed and what is shown are different terminals")
	}
	var p [2]int
	if err := unix.Pipe(p[:]); err != nil {
		return nil, fmt.Errorf("ask: %w", err)
	}
	for _, fd := range p {
		unix.CloseOnExec(fd)
		if err := unix.SetNonblock(fd, true); err != nil {
			return nil, errors.Join(fmt.Errorf("ask: %w", err), unix.Close(p[0]), unix.Close(p[1]))
		}
	}
	return &unixDevice{in: in, out: out, fd: int(in.Fd()), plain: plain, r: p[0], w: p[1]}, nil
}

// sameTerminal is false for two terminals. /dev/tty has a number of its own and may be
// either.
func sameTerminal(in, out *os.File) bool {
	var i, o, any unix.Stat_t
	if unix.Fstat(int(in.Fd()), &i) != nil || unix.Fstat(int(out.Fd()), &o) != nil || i.Rdev == o.Rdev {
		return true
	}
	return unix.Stat("/dev/tty", &any) == nil && (i.Rdev == any.Rdev || o.Rdev == any.Rdev)
}

// take makes this process the one that asks on a terminal, by a record lock, which ends
// with the process. It is false while another has it that a person could answer. Where a
// terminal cannot be locked there is no such protection.
func take(fd int) bool {
	l := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Len: 1}
	err := unix.FcntlFlock(uintptr(fd), unix.F_SETLK, &l)
	return err != unix.EAGAIN && err != unix.EACCES || !taken(fd)
}

// taken reports that another process of the foreground asks on a terminal.
func taken(fd int) bool {
	l := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Len: 1}
	if err := unix.FcntlFlock(uintptr(fd), unix.F_GETLK, &l); err != nil || l.Type == unix.F_UNLCK {
		return false
	}
	front, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	if err != nil {
		return true
	}
	group, err := unix.Getpgid(int(l.Pid))
	return err != nil || group == front
}

func (d *unixDevice) release() {
	l := unix.Flock_t{Type: unix.F_UNLCK, Whence: io.SeekStart, Len: 1}
	_ = unix.FcntlFlock(d.out.Fd(), unix.F_SETLK, &l) // what cannot be locked is not locked
}

func marked(t *unix.Termios) bool {
	return t.Lflag&(unix.ICANON|unix.ECHO) == 0 && t.Cc[unix.VMIN] == 1 && t.Cc[unix.VTIME] == mark
}

// unmark undoes what enter did to modes that nobody has saved.
func unmark(t *unix.Termios) {
	t.Lflag |= unix.ICANON | unix.ECHO
	t.Cc[unix.VMIN], t.Cc[unix.VTIME] = 1, 0
}

// Repair turns canonical mode and echo on when a process that asked was killed and left them off. screenKilled, unless nil,
// reports whether that of a full screen was: then Repair undoes raw modes, unless the shell has, and writes ScreenOff. It
// does nothing in the background, while another process asks there, and on anything but such a terminal.
func Repair(in, out *os.File, screenKilled func() bool) error {
	fd := int(in.Fd())
	t, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil || !foreground(fd) || term.IsTerminal(int(out.Fd())) && taken(int(out.Fd())) {
		return nil
	}
	off := ""
	if marked(t) {
		unmark(t)
		off = pasteOff
	}
	if screenKilled != nil && screenKilled() {
		if t.Lflag&(unix.ICANON|unix.ECHO) == 0 {
			unmark(t)
			t.Iflag |= unix.ICRNL | unix.IXON
			t.Oflag |= unix.OPOST
			t.Lflag |= unix.ISIG | unix.IEXTEN
		}
		off = ScreenOff
	}
	if off == "" {
		return nil
	}
	if err := unix.IoctlSetTermios(fd, setTermios, t); err != nil {
		return fmt.Errorf("ask: restore the terminal: %w; type reset", err)
	}
	if term.IsTerminal(int(out.Fd())) {
		_, err = io.WriteString(out, off)
	}
	return err
}

const (
	pasteOn  = "\x1b[?2004h"
	pasteOff = "\x1b[?2004l"
)

func (d *unixDevice) enter() error {
	if !take(int(d.out.Fd())) {
		return errTaken
	}
	t, err := unix.IoctlGetTermios(d.fd, getTermios)
	if err != nil {
		return err
	}
	switch {
	case !marked(t):
		old := *t
		d.old = &old
	case d.old == nil: // a process was killed here
		old := *t
		unmark(&old)
		d.old = &old
	}
	t.Lflag &^= unix.ICANON | unix.ECHO | unix.ECHONL
	t.Lflag |= unix.ISIG
	t.Oflag |= unix.OPOST
	t.Cc[unix.VMIN], t.Cc[unix.VTIME] = 1, mark
	if err := unix.IoctlSetTermios(d.fd, setTermios, t); err != nil {
		return err
	}
	if !d.plain {
		d.paint(pasteOn)
	}
	return nil
}

func (d *unixDevice) leave() {
	defer d.release()
	if d.old == nil || !foreground(d.fd) {
		return
	}
	if !d.plain {
		d.paint(pasteOff)
	}
	// The terminal may be gone, which is no news to whoever leaves it.
	_ = unix.IoctlSetTermios(d.fd, setTermiosFlush, d.old)
}

func (d *unixDevice) foreground() bool { return foreground(d.fd) }

// foreground says that reads of a terminal do not stop this process. A terminal that is
// not the controlling one stops nobody.
func foreground(fd int) bool {
	g, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	return err != nil || g == unix.Getpgrp()
}

func (d *unixDevice) read(b []byte) (int, error) {
	p := []unix.PollFd{{Fd: int32(d.fd), Events: unix.POLLIN}}
	if n, err := unix.Poll(p, 0); n <= 0 || err != nil {
		return 0, nil // EINTR: the next round looks again
	}
	n, err := unix.Read(d.fd, b)
	switch {
	case err == unix.EINTR || err == unix.EAGAIN:
		return 0, nil
	case err != nil:
		return 0, err
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

func (d *unixDevice) wait(input bool, until time.Time) {
	timeout := -1
	if !until.IsZero() {
		timeout = int(max(0, time.Until(until)+time.Millisecond-1) / time.Millisecond)
	}
	p := []unix.PollFd{{Fd: int32(d.r), Events: unix.POLLIN}}
	if input {
		p = append(p, unix.PollFd{Fd: int32(d.fd), Events: unix.POLLIN})
	}
	if _, err := unix.Poll(p, timeout); err != nil {
		return
	}
	var b [64]byte
	for n := len(b); n == len(b); {
		var err error
		if n, err = unix.Read(d.r, b[:]); err != nil {
			return
		}
	}
}

func (d *unixDevice) wake() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.w >= 0 {
		_, _ = unix.Write(d.w, []byte{0}) // a full pipe wakes, too
	}
}

func (d *unixDevice) paint(s string) time.Time {
	_, _ = io.WriteString(d.out, s) // a terminal that is gone shows in a read
	drain(int(d.out.Fd()))
	return time.Now()
}

func (d *unixDevice) drop() (some bool) {
	if !foreground(d.fd) {
		return false
	}
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(d.fd), Events: unix.POLLIN}}, 0)
	flushInput(d.fd)
	return n > 0 && err == nil
}

func (d *unixDevice) size() (cols, rows int) {
	cols, rows, _ = term.GetSize(int(d.out.Fd())) // 0 with an error
	return cols, rows
}

var events = map[os.Signal]event{syscall.SIGWINCH: eventResized, syscall.SIGCONT: eventContinued,
	syscall.SIGTSTP: eventSuspend, syscall.SIGQUIT: eventQuit}

// watch is for the rest of the process: Go does not restore the default action of
// SIGTSTP, SIGTTIN and SIGTTOU. It also has reads and changes of modes fail in the background instead of stopping
// this process: between a look at who has the foreground and the call that may change.
func (d *unixDevice) watch(tell func(event)) (stop func()) {
	c := make(chan os.Signal, 8)
	for s := range events {
		if !signal.Ignored(s) {
			signal.Notify(c, s)
		}
	}
	signal.Ignore(syscall.SIGTTIN, syscall.SIGTTOU)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case s := <-c:
				tell(events[s])
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(c)
		close(done)
		<-ended
	}
}

// suspend stops this process by SIGSTOP, because Go has no way back to the default action
// of SIGTSTP once it was caught. Where that action does nothing, in a group that no shell
// looks after, neither does this.
func (d *unixDevice) suspend() bool {
	sid, err := unix.Getsid(0)
	parent, perr := unix.Getsid(os.Getppid())
	if err != nil || perr != nil || parent != sid || unix.Getpgrp() == sid {
		return false
	}
	return syscall.Kill(os.Getpid(), syscall.SIGSTOP) == nil
}

func (d *unixDevice) quit() {
	signal.Reset(syscall.SIGQUIT)
	_ = syscall.Kill(os.Getpid(), syscall.SIGQUIT) // a process may signal itself
}

func (d *unixDevice) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, _ = unix.Close(d.r), unix.Close(d.w)
	d.w = -1
}

// Drain waits until what was written to a terminal has left this machine's buffers.
func Drain(f *os.File) { drain(int(f.Fd())) }
