package ask

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/term"
)

// ScreenOff is what a terminal is told when a full screen ends: its first page, cursor and line wrap, and no mouse, no marked
// pastes and no title of the screen.
const ScreenOff = "\x1b[m\x1b[23;2t\x1b[?2004l\x1b[?1006l\x1b[?1002l\x1b[?7h\x1b[?25h\x1b[?1049l"

// Options are a Terminal's settings; the zero value works.
type Options struct {
	// Plain is for a terminal that knows no escape sequences (TERM=dumb).
	Plain bool
	// Bold emphasises the line that says what to type; nil leaves it as it is.
	Bold func(string) string
	// Stand returns how long a question stands before a key counts; nil: always Stand. Tests set it. It is
	// called again while a question stands.
	Stand func() time.Duration
}

// Terminal asks on one terminal. Its methods may be called by several goroutines.
type Terminal struct {
	dev device

	mu     sync.Mutex
	inbox  []func(now time.Time)
	active bool // questions are open, or about to be
	lent   bool
	closed bool
	ended  chan struct{} // of the loop; nil: it has not begun

	m machine // of the loop
	// of the loop
	entered bool
	stopped time.Time // it has been stopped; until then SIGCONT is awaited
	unwatch func()
	gone    error // the terminal's
}

// device is a terminal as the loop uses it.
type device interface {
	screen
	// enter sets the modes of a question; leave restores them. It fails with errTaken
	// while another process that asks has the terminal.
	enter() error
	leave()
	// foreground says that the terminal's input is this process's.
	foreground() bool
	// read returns what was typed, without waiting; 0 when nothing was.
	read(b []byte) (int, error)
	// wait returns when something was typed (if input), on wake, and at until, unless
	// that is zero.
	wait(input bool, until time.Time)
	wake()
	// watch tells of signals until stop, which waits.
	watch(tell func(what event)) (stop func())
	// suspend stops this process as its signal would have. It reports false where nobody
	// could have it go on: then it goes on.
	suspend() bool
	// quit ends this process by the signal that it got (SIGQUIT).
	quit()
	close()
}

// errTaken is why a process does not ask now: two readers would take each other's keys.
var errTaken = errors.New("ask: another process asks on this terminal")

// event is a signal in the loop's words.
type event int

const (
	eventResized event = iota
	eventContinued
	eventSuspend
	eventQuit
)

// New prepares to ask on in, a terminal, and to write on out, the same terminal. Nothing
// is changed until the first question.
func New(in, out *os.File, o Options) (*Terminal, error) {
	dev, err := newDevice(in, out, o.Plain)
	if err != nil {
		return nil, err
	}
	return newTerminal(dev, o), nil
}

func newTerminal(dev device, o Options) *Terminal {
	return &Terminal{dev: dev, m: machine{screen: dev, Options: o}}
}

// Ask shows a question, waits for its turn, and returns the answer. When ctx ends the
// question is taken away, with the cause said, and the cause is the error.
func (t *Terminal) Ask(ctx context.Context, q Prompt) (Answer, error) {
	if q.Typed && q.Handle == "" {
		return Answer{}, errors.New("ask: a question whose handle is to be typed has none")
	}
	e := &asked{Prompt: q, ctx: ctx, done: make(chan result, 1)}
	if err := t.begin(func(time.Time) {
		if t.gone != nil {
			e.done <- result{err: t.gone}
			return
		}
		t.m.add(e)
	}); err != nil {
		return Answer{}, err
	}
	select {
	case r := <-e.done:
		return r.answer, r.err
	case <-ctx.Done():
	}
	gone := make(chan struct{})
	t.push(func(time.Time) {
		t.m.remove(e, context.Cause(ctx))
		close(gone)
	})
	select {
	case <-gone:
	case <-t.ended:
	}
	return Answer{}, context.Cause(ctx)
}

// begin hands the loop its first, or next, question.
func (t *Terminal) begin(f func(now time.Time)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed:
		return ErrClosed
	case t.lent:
		return ErrLent
	}
	if t.ended == nil {
		t.ended = make(chan struct{})
		go t.loop()
	}
	t.active = true
	t.inbox = append(t.inbox, f)
	t.dev.wake()
	return nil
}

// push has the loop call f.
func (t *Terminal) push(f func(now time.Time)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.inbox = append(t.inbox, f)
	t.dev.wake()
}

// Lend gives the terminal to another reader until back is called. It refuses while a
// question is open, and Ask refuses meanwhile.
func (t *Terminal) Lend() (back func(), err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.active || t.lent {
		return nil, ErrBusy
	}
	t.lent = true
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.lent = false
	}, nil
}

// Close fails the open questions, restores the terminal, writes what was held, and waits
// for the loop. It may be called twice.
func (t *Terminal) Close() error {
	t.mu.Lock()
	first := !t.closed
	t.closed = true
	ended := t.ended
	if ended != nil && first {
		t.dev.wake()
	}
	t.mu.Unlock()
	if ended != nil {
		<-ended
	}
	if first {
		t.dev.close()
	}
	return nil
}

// loop is the one reader of the terminal. It ends on Close.
func (t *Terminal) loop() {
	defer close(t.ended)
	defer func() {
		if p := recover(); p != nil {
			t.dev.leave()
			panic(p)
		}
	}()
	for {
		t.look()
		t.read()
		if t.take() {
			return
		}
		now := time.Now()
		if t.m.front && t.m.windowOver(now) {
			t.read() // what is there was typed before
			t.m.arm()
		}
		t.m.due(now)
		until := t.m.next(now)
		if t.m.front || len(t.m.open) > 0 { // who has the foreground is nobody's event
			if c := now.Add(250 * time.Millisecond); until.IsZero() || c.Before(until) {
				until = c
			}
		}
		asleep := time.Now()
		t.dev.wait(t.entered, until)
		if until.Before(asleep) {
			until = asleep
		}
		// A process that was stopped, by whatever signal, finds keys that were typed
		// meanwhile, and may find them before it is told that it goes on.
		if late := -time.Until(until); t.m.shown != nil && late > Stand {
			t.drop()
			t.m.anew()
		}
	}
}

// drop forgets what was typed.
func (t *Terminal) drop() {
	if t.entered && t.dev.drop() {
		t.m.stale = time.Now()
	}
}

// look sees whether the terminal is this process's now.
func (t *Terminal) look() {
	if t.gone != nil || !t.entered && !t.busy() || time.Now().Before(t.stopped) {
		return
	}
	if t.unwatch == nil {
		t.unwatch = t.dev.watch(func(what event) { t.push(func(now time.Time) { t.signal(what, now) }) })
	}
	front := t.dev.foreground()
	switch {
	case front && !t.entered:
		err := t.dev.enter()
		if t.m.taken = errors.Is(err, errTaken); t.m.taken {
			return
		}
		if err != nil {
			t.lose(err)
			return
		}
		t.entered, t.m.front = true, true
		t.drop()
	case !front && t.entered:
		t.dev.leave() // which changes no modes now
		t.entered, t.m.front = false, false
		t.m.anew()
	}
}

// busy says that there is something to ask.
func (t *Terminal) busy() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.active
}

// lose ends asking: there is no terminal any more.
func (t *Terminal) lose(err error) {
	t.gone = fmt.Errorf("ask: the terminal is gone: %w", err)
	t.leave()
	t.m.fail(t.gone)
}

// read takes in what was typed.
func (t *Terminal) read() {
	var b [4096]byte
	for t.entered && t.dev.foreground() {
		n, err := t.dev.read(b[:])
		if n > 0 {
			t.m.input(b[:n], time.Now())
			continue
		}
		if err != nil && t.dev.foreground() {
			t.lose(err)
		}
		return
	}
}

// take does what was pushed, and reports whether the loop is over. When nothing is open
// the terminal is left.
func (t *Terminal) take() (over bool) {
	for {
		fs, closed := t.pushed(false)
		if len(fs) > 0 {
			t.look()
		}
		for _, f := range fs {
			f(time.Now())
		}
		switch {
		case len(fs) > 0:
			continue
		case closed:
			t.m.fail(ErrClosed)
			t.leave()
			if t.unwatch != nil {
				t.unwatch()
			}
			return true
		case len(t.m.open) > 0 || !t.busy():
			return false
		}
		t.m.release()
		t.leave()
		if fs, _ := t.pushed(true); len(fs) == 0 {
			return false
		}
	}
}

// pushed is what the inbox holds. idle wants the inbox only looked at, and says, when it
// is empty, that nothing is asked any more: from then on Output writes by itself.
func (t *Terminal) pushed(idle bool) (fs []func(time.Time), closed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fs = t.inbox
	if !idle {
		t.inbox = nil
	} else if len(fs) == 0 {
		t.active = false
	}
	return fs, t.closed
}

// leave gives the terminal back.
func (t *Terminal) leave() {
	if t.entered {
		t.dev.leave()
		t.entered, t.m.front = false, false
	}
}

// signal does what a signal asks for.
func (t *Terminal) signal(what event, now time.Time) {
	switch what {
	case eventResized:
		t.m.resized(now)
		return
	case eventSuspend:
		if t.entered {
			t.m.screen.paint("\n")
		}
		t.leave()
		if t.dev.suspend() {
			t.stopped = time.Now().Add(time.Second)
		}
	case eventQuit:
		t.leave()
		t.dev.quit()
		return
	case eventContinued:
		t.stopped = time.Time{}
	}
	// It goes on: in the foreground or not, with whatever modes the shell has set.
	t.entered, t.m.front = false, false
	t.m.anew()
	t.look()
}

// Output writes to a file, in turn with the questions of a Terminal. While a question stands
// it takes what is written at once, and it appears within Hold, or when the person has
// answered.
type Output struct {
	t func() *Terminal
	f *os.File
}

// OutputTo returns the output for f, which may be a terminal that asks: t is called by each
// Write, and may return nil.
func OutputTo(f *os.File, t func() *Terminal) *Output { return &Output{t: t, f: f} }

// Write writes b, or keeps a copy for the loop.
func (o *Output) Write(b []byte) (int, error) {
	t := o.t()
	if t == nil || !term.IsTerminal(int(o.f.Fd())) {
		return o.f.Write(b)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.active || t.closed {
		return o.f.Write(b)
	}
	b = slices.Clone(b)
	t.inbox = append(t.inbox, func(time.Time) { t.m.say(o.f, b) })
	t.dev.wake()
	return len(b), nil
}

// Read, Close and Fd make an Output what a terminal's file is to libraries.
func (o *Output) Read(b []byte) (int, error) { return o.f.Read(b) }
func (o *Output) Close() error               { return o.f.Close() }
func (o *Output) Fd() uintptr                { return o.f.Fd() }

// File is the file itself, for a program that is given the terminal.
func (o *Output) File() *os.File { return o.f }

var _ io.ReadWriteCloser = (*Output)(nil)
