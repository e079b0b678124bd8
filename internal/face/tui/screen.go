package tui

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/charmbracelet/colorprofile"
	"golang.org/x/term"

	"waggle/internal/face/ask"
)

// painter draws frames on a terminal.
type painter interface {
	// Paint takes a frame of a size with the title of the terminal's window, which has no control characters, and returns
	// its number: one more than that of the frame before.
	// It does not wait for the terminal. A frame that the terminal has not begun is replaced.
	Paint(frame, title string, w, h int) int
}

// What the terminal is told when the screen begins, which ask.ScreenOff ends: its second page, without cursor and
// line wrap, with mouse, marked pastes and a title.
const enterScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[?1002h\x1b[?1006h\x1b[?2004h\x1b[22;2t\x1b]2;waggle\x07\x1b[2J"

// betweenFrames is the least time from one frame to the next.
const betweenFrames = 30 * time.Millisecond

// screen is the terminal. It writes what differs between two frames, and nothing while no frame
// comes. It implements painter.
type screen struct {
	in, out *os.File
	write   io.Writer
	modes   *term.State
	painted func(n int)   // is told when the terminal has taken a frame
	more    chan struct{} // a frame waits

	drawing sync.Mutex  // held while the terminal is written to, or is lent to another program
	lent    atomic.Bool // to an editor, or the client of a session

	mu    sync.Mutex // guards the fields below
	next  frame
	again bool // the whole screen is drawn anew
}

// frame is a drawn screen.
type frame struct {
	n, w, h     int
	text, title string
}

func newScreen(in, out *os.File, profile colorprofile.Profile) *screen {
	return &screen{in: in, out: out, write: &colorprofile.Writer{Forward: out, Profile: profile}, more: make(chan struct{}, 1)}
}

// size is the number of columns and lines.
func (s *screen) size() (w, h int, err error) { return term.GetSize(int(s.out.Fd())) }

// enter has the terminal pass on each key, and shows an empty screen.
func (s *screen) enter() error {
	s.drawing.Lock()
	defer s.drawing.Unlock()
	modes, err := term.MakeRaw(int(s.in.Fd()))
	if err != nil {
		return fmt.Errorf("set up the terminal: %w", err)
	}
	if s.modes == nil {
		s.modes = modes
	}
	_, err = io.WriteString(s.out, enterScreen)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.again = true
	Nudge(s.more)
	return err
}

// leave brings back what was on the terminal before.
func (s *screen) leave() error {
	_, err := io.WriteString(s.out, ask.ScreenOff)
	if back := term.Restore(int(s.in.Fd()), s.modes); back != nil {
		return fmt.Errorf("restore the terminal: %w; type reset", back)
	}
	return err
}

// leaveTime is how long a screen that a signal has ended waits for a terminal that takes no output.
const leaveTime = 2 * time.Second

// left waits until leave has returned. After a signal it gives up a terminal that takes no output, which would keep the
// process for ever, and sets its modes alone.
func (s *screen) left(leave <-chan error, signalled bool) error {
	for {
		select {
		case err := <-leave:
			return err
		case <-time.After(leaveTime):
			if signalled && !s.lent.Load() {
				_ = term.Restore(int(s.in.Fd()), s.modes) // nothing can be told there
				return nil
			}
		}
	}
}

// guarded is f, with the terminal as it was before when f panics.
func (s *screen) guarded(f func()) func() {
	return func() {
		defer func() {
			if p := recover(); p != nil {
				_ = s.leave() // the panic says more
				panic(p)
			}
		}()
		f()
	}
}

// Paint implements painter.
func (s *screen) Paint(text, title string, w, h int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = frame{s.next.n + 1, w, h, text, title}
	Nudge(s.more)
	return s.next.n
}

// Nudge puts a value into a channel that has room for one, unless one is there.
func Nudge(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// run writes frames until ctx ends.
func (s *screen) run(ctx context.Context) {
	rest := time.NewTimer(0)
	defer rest.Stop()
	var last frame
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.more:
		}
		now, ok := s.show(&last)
		if !ok {
			return // the terminal is gone, which ends the program's input too
		}
		if now == 0 {
			continue
		}
		s.painted(now)
		rest.Reset(betweenFrames)
		select {
		case <-ctx.Done():
			return
		case <-rest.C:
		}
	}
}

// show writes the newest frame, and returns its number.
func (s *screen) show(last *frame) (n int, ok bool) {
	s.drawing.Lock()
	defer s.drawing.Unlock()
	s.mu.Lock()
	now, again := s.next, s.again
	s.again = again && now.n == 0
	s.mu.Unlock()
	if now.n == 0 {
		return 0, true // there is no frame yet
	}
	if again {
		last.title = ""
	}
	if now.title != last.title {
		if _, err := io.WriteString(s.out, titled(now.title)); err != nil {
			return 0, false
		}
	}
	if again || now.w != last.w || now.h != last.h {
		last.text = ""
	}
	if text := differing(last.text, now.text); text != "" {
		if _, err := io.WriteString(s.write, text); err != nil {
			return 0, false
		}
		ask.Drain(s.out)
	}
	*last = now
	return now.n, true
}

// titled is what the terminal is told so that its window has a title.
func titled(title string) string { return "\x1b]2;" + title + "\x07" }

// differing is what the terminal is told so that it shows one frame after another; was "": the
// screen may show anything. Each line that differs is written as a whole.
func differing(was, now string) string {
	if was == now && was != "" {
		return ""
	}
	var b strings.Builder
	old := strings.Split(was, "\n")
	if was == "" {
		b.WriteString("\x1b[2J")
		old = nil
	}
	lines := strings.Split(now, "\n")
	for i, l := range lines {
		if i >= len(old) || old[i] != l {
			fmt.Fprintf(&b, "\x1b[%d;1H\x1b[2K%s\x1b[m", i+1, l)
		}
	}
	if len(old) > len(lines) {
		fmt.Fprintf(&b, "\x1b[%d;1H\x1b[J", len(lines)+1)
	}
	return b.String()
}
