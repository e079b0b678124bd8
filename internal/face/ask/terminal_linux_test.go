package ask_test

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"waggle/internal/face/ask"
	"waggle/internal/test/testenv"
)

// rig is a terminal with a test at its other end.
type rig struct {
	t        *testing.T
	far, tty *os.File
	mu       sync.Mutex
	seen     strings.Builder
	more     chan struct{}
}

func newRig(t *testing.T) *rig {
	t.Helper()
	blocking, tty, err := pty.Open()
	testenv.Must(t, err)
	fd, err := unix.FcntlInt(blocking.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	testenv.Must(t, errors.Join(err, unix.SetNonblock(fd, true), blocking.Close()))
	far := os.NewFile(uintptr(fd), "far end") // its Close ends a Read
	r := &rig{t: t, far: far, tty: tty, more: make(chan struct{}, 1)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 4096)
		for {
			n, err := far.Read(buf)
			r.mu.Lock()
			r.seen.Write(buf[:n])
			r.mu.Unlock()
			select {
			case r.more <- struct{}{}:
			default:
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_, _ = tty.Close(), far.Close() // a test may have closed them
		<-done
	})
	return r
}

func (r *rig) wait(text string) {
	r.t.Helper()
	r.waits(text, 1)
}

func (r *rig) modes() *unix.Termios {
	r.t.Helper()
	m, err := unix.IoctlGetTermios(int(r.tty.Fd()), unix.TCGETS)
	testenv.Must(r.t, err)
	return m
}

// restored checks that the modes are as they were.
func (r *rig) restored(before unix.Termios) {
	r.t.Helper()
	if after := *r.modes(); after != before {
		r.t.Errorf("modes %+v, want %+v", after, before)
	}
}

func (r *rig) open() *ask.Terminal {
	r.t.Helper()
	x, err := ask.New(r.tty, r.tty, ask.Options{})
	testenv.Must(r.t, err)
	return x
}

// asked asks a question beside the test; the channel has how it ends.
func asked(ctx context.Context, x *ask.Terminal, q ask.Prompt) <-chan error {
	ended := make(chan error, 1)
	go func() {
		_, err := x.Ask(ctx, q)
		ended <- err
	}()
	return ended
}

// TestModes: while a question stands there is no canonical mode and no echo, but signals
// and output processing; afterwards the modes are as they were.
func TestModes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	before := *r.modes()
	x := r.open()
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := asked(ctx, x, low)
	r.wait("allow it?")
	m := r.modes()
	if m.Lflag&(unix.ICANON|unix.ECHO) != 0 || m.Lflag&unix.ISIG == 0 || m.Oflag&unix.OPOST == 0 {
		t.Errorf("modes while it asks: local %#x, output %#x", m.Lflag, m.Oflag)
	}
	if _, err := x.Lend(); !errors.Is(err, ask.ErrBusy) {
		t.Errorf("lent while a question stands: %v", err)
	}
	out := ask.OutputTo(r.tty, func() *ask.Terminal { return x })
	if _, err := io.WriteString(out, "bob has left\n"); err != nil {
		t.Fatal(err)
	}
	gone := errors.New("bob took it back")
	cancel(gone)
	if err := <-ended; !errors.Is(err, gone) {
		t.Errorf("withdrawn: %v", err)
	}
	r.wait("bob took it back")
	r.wait("bob has left")
	testenv.Must(t, x.Close())
	r.restored(before)
	if _, err := x.Ask(t.Context(), low); !errors.Is(err, ask.ErrClosed) {
		t.Errorf("asked after Close: %v", err)
	}
}

// TestPanic: a panic of the Terminal's owner leaves the modes as they were.
func TestPanic(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	before := *r.modes()
	var ended <-chan error
	func() {
		defer func() {
			if p := recover(); p != "trouble" {
				t.Errorf("recovered %v", p)
			}
		}()
		x := r.open()
		defer x.Close()
		ended = asked(t.Context(), x, low)
		r.wait("allow it?")
		panic("trouble")
	}()
	if err := <-ended; !errors.Is(err, ask.ErrClosed) {
		t.Errorf("the question that was open: %v", err)
	}
	r.restored(before)
}

// killed leaves a terminal in the state that a process leaves when it is killed while it asks.
func killed(t *testing.T, r *rig) (before unix.Termios) {
	before = *r.modes()
	x := r.open()
	ctx, cancel := context.WithCancel(t.Context())
	ended := asked(ctx, x, low)
	r.wait("allow it?")
	left := *r.modes()
	cancel()
	<-ended
	x.Close()
	testenv.Must(t, unix.IoctlSetTermios(int(r.tty.Fd()), unix.TCSETS, &left))
	return before
}

// TestRepair: canonical mode and echo are on again after a process was killed; modes of
// other programs are left alone.
func TestRepair(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	before := killed(t, r)
	testenv.Must(t, ask.Repair(r.tty, r.tty, nil))
	r.restored(before)
	others := before
	others.Lflag &^= unix.ICANON | unix.ECHO
	testenv.Must(t, unix.IoctlSetTermios(int(r.tty.Fd()), unix.TCSETS, &others))
	testenv.Must(t, ask.Repair(r.tty, r.tty, nil))
	if after := *r.modes(); after != others {
		t.Errorf("another program's modes were changed to %+v", after)
	}
}

// TestAskRepairs: a question on such a terminal leaves sane modes, too.
func TestAskRepairs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	before := killed(t, r)
	x := r.open()
	ctx, cancel := context.WithCancel(t.Context())
	q := low
	q.Text = "another"
	ended := asked(ctx, x, q)
	r.wait("another")
	cancel()
	<-ended
	x.Close()
	r.restored(before)
}

// TestGone: when the terminal goes away, open questions fail and later ones, too.
func TestGone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	x := r.open()
	defer x.Close()
	ended := asked(t.Context(), x, low)
	r.wait("allow it?")
	r.far.Close()
	if err := <-ended; err == nil || errors.Is(err, ask.ErrClosed) {
		t.Errorf("the terminal is gone: %v", err)
	}
	if _, err := x.Ask(t.Context(), low); err == nil {
		t.Error("asked on a terminal that is gone")
	}
}

// TestLend: while another reader has the terminal nothing is asked.
func TestLend(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	x := r.open()
	defer x.Close()
	back, err := x.Lend()
	testenv.Must(t, err)
	if _, err := x.Ask(t.Context(), low); !errors.Is(err, ask.ErrLent) {
		t.Errorf("asked while it is lent: %v", err)
	}
	if _, err := x.Lend(); !errors.Is(err, ask.ErrBusy) {
		t.Errorf("lent twice: %v", err)
	}
	back()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := x.Ask(ctx, low); !errors.Is(err, context.Canceled) {
		t.Errorf("asked afterwards: %v", err)
	}
}
