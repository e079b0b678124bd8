//go:build unix

package terminal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"waggle/internal/fs/logfile"
	"waggle/internal/peer"
	"waggle/spawn"
)

// Hold runs a holder: it reads the hand-over at path, starts the process in a new pseudo-terminal,
// copies its output to the log and to every attached viewer, and returns when the process has
// ended, with the status that its own program should exit with. screen is the holder's own
// terminal, for a pane; nil when it has none. environ is the holder's own environment: of it a
// process in a pane gets what names that pane, in place of what its Spec has (spawn.ScopeTerminal).
//
// It ends with its process and never before, except when it is killed: then the process's terminal
// hangs up.
func Hold(ctx context.Context, path string, screen *os.File, environ []string) (code int, err error) {
	base, ok := strings.CutSuffix(path, startSuffix)
	if !ok {
		return 1, fmt.Errorf("hold: %s is not a hand-over", path)
	}
	p := paths{base}
	h, err := take(ctx, path)
	if errors.Is(err, errNoStarter) {
		err = errors.Join(err, closeOwn(ctx, environ))
	}
	if err != nil {
		return 1, fmt.Errorf("hold: %w", err)
	}
	// A hang-up of the pane ends the process, which then ends us.
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, unix.SIGHUP, unix.SIGTERM, unix.SIGINT, unix.SIGWINCH)
	defer signal.Stop(signals)
	held, err := start(h, environ)
	if err != nil {
		return 1, errors.Join(fmt.Errorf("hold: %w", err), writeJSON(p.hold(), hold{Error: err.Error()}))
	}
	// Bound before the process is reported.
	if held.listener = bind(h.Socket); held.listener == nil {
		held.hold.Place.Socket = ""
	}
	if err := writeJSON(p.hold(), held.hold); err != nil {
		_ = held.cmd.Process.Kill()
		_ = held.cmd.Wait()
		return 1, fmt.Errorf("hold: %w", err)
	}
	exit := held.run(ctx, h, screen, signals)
	held.hold.Ended, held.hold.Exit = true, exit
	if err := writeJSON(p.hold(), held.hold); err != nil {
		return 1, fmt.Errorf("hold: %w", err)
	}
	if exit.Code < 0 {
		return 1, nil
	}
	return exit.Code, nil
}

// holder holds one process.
type holder struct {
	hold hold
	cmd  *exec.Cmd
	tty  *os.File // our side of the pseudo-terminal

	listener net.Listener // nil: viewers cannot attach
	log      *logfile.Log

	mu       sync.Mutex
	recent   []byte // the newest output, for viewers that attach later
	viewers  map[*viewer]bool
	shown    bool // on the holder's own terminal, which has the size
	carriage bool // the log ends in a \r that may be the first half of a line end
}

func start(h handover, environ []string) (*holder, error) {
	log, err := logfile.Open(h.Spec.Log, logfile.Options{})
	if err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	self, err := spawn.Identify(os.Getpid())
	if err != nil {
		log.Close()
		return nil, err
	}
	cmd := &exec.Cmd{Path: h.Spec.Argv[0], Args: h.Spec.Argv, Dir: h.Spec.Dir, Env: inPane(h, environ)}
	tty, err := pty.StartWithAttrs(cmd, &pty.Winsize{Cols: defaultSize.Cols, Rows: defaultSize.Rows},
		&syscall.SysProcAttr{Setsid: true, Setctty: true})
	if err != nil {
		log.Close()
		return nil, err
	}
	if h.Pane != nil && h.Pane.Mux == spawn.MuxITerm2 {
		h.Pane.Server = terminalOwner()
	}
	id, err := spawn.Identify(cmd.Process.Pid) // a zombie has one too
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return nil, errors.Join(err, log.Close(), tty.Close())
	}
	return &holder{hold: hold{Process: id, Place: spawn.Place{Holder: &self, Socket: h.Socket, Pane: h.Pane}}, cmd: cmd, tty: tty, log: log, viewers: map[*viewer]bool{}}, nil
}

// paneVars are the variables by which a program knows its pane. A server of tmux has others too, of the terminal that
// it was started in.
var paneVars = map[spawn.Mux][]string{
	spawn.MuxTmux:   {"TMUX", "TMUX_PANE", "TERM_PROGRAM", "TERM_PROGRAM_VERSION"},
	spawn.MuxITerm2: {"ITERM_SESSION_ID", "TERM_SESSION_ID", "TERM_PROGRAM", "TERM_PROGRAM_VERSION"},
}

// inPane is the environment of the process: its Spec's, and in a pane what names the pane.
func inPane(h handover, environ []string) []string {
	if h.Pane == nil {
		return append([]string{}, h.Spec.Env...)
	}
	env := spawn.Without(h.Spec.Env, spawn.ScopeTerminal)
	for _, name := range paneVars[h.Pane.Mux] {
		if v := spawn.Getenv(environ, name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// run copies output until the process has ended and all of its output is copied, then waits for
// every goroutine that it started.
func (h *holder) run(ctx context.Context, ho handover, screen *os.File, signals <-chan os.Signal) spawn.Exit {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	if screen != nil && ho.Pane != nil {
		restore := h.show(screen)
		defer restore()
	}
	if h.listener != nil {
		h.serve(ctx, &wg, h.listener)
	}
	done := make(chan struct{})
	wg.Go(func() { h.signalled(done, screen, signals) })
	drained := make(chan struct{})
	wg.Go(func() {
		defer close(drained)
		h.carry()
	})
	_ = h.cmd.Wait() // its error repeats the state
	// A background process may keep the terminal open: closing it hangs up and ends that.
	select {
	case <-drained:
	case <-time.After(drainWait):
	}
	_ = h.tty.Close()
	close(done)
	h.end()
	cancel()
	wg.Wait()
	_ = h.log.Close()
	return spawn.ExitOf(h.cmd.ProcessState)
}

// drainWait is how long output is waited for after the process has ended, when
// something else still has the terminal open.
const drainWait = time.Second

// carry copies the output until the terminal closes.
func (h *holder) carry() {
	buf := make([]byte, maxFrame/2)
	for {
		n, err := h.tty.Read(buf)
		if n > 0 {
			h.output(buf[:n])
		}
		if err != nil {
			return // EIO: no process has the other side open
		}
	}
}

// output goes to the log with plain line ends, and to viewers as it is.
func (h *holder) output(b []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	plain := bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n"))
	if h.carriage && b[0] != '\n' {
		plain = append([]byte{'\r'}, plain...)
	}
	if h.carriage = bytes.HasSuffix(plain, []byte{'\r'}); h.carriage {
		plain = plain[:len(plain)-1]
	}
	_, _ = h.log.Write(plain) // a full disk must not stop the process
	h.recent = append(h.recent, b...)
	if over := len(h.recent) - Recent; over > 0 {
		h.recent = append(h.recent[:0], h.recent[over:]...)
	}
	for v := range h.viewers {
		v.offer(b)
	}
}

// signalled passes on what reaches the holder: a hang-up and a request to end go
// to the process, a change of the screen to its terminal.
func (h *holder) signalled(done <-chan struct{}, screen *os.File, signals <-chan os.Signal) {
	for {
		select {
		case <-done:
			return
		case s := <-signals:
			if s == unix.SIGWINCH {
				h.fit(screen)
				continue
			}
			if h.hold.Process.Alive() {
				_ = unix.Kill(-h.hold.Process.PGID, s.(syscall.Signal))
			}
		}
	}
}

// show makes the holder's own terminal the first viewer and sends its typed input to the process
// unchanged. The goroutine that reads it ends with the program, because a read of a terminal cannot
// be cancelled.
func (h *holder) show(screen *os.File) (restore func()) {
	old, err := term.MakeRaw(int(screen.Fd()))
	if err != nil {
		return func() {} // not a terminal: no viewer
	}
	h.shown = true
	h.fit(screen)
	v := h.join(screen, nil)
	go func() { _, _ = io.Copy(h.tty, screen) }()
	return func() {
		<-v.done
		_ = term.Restore(int(screen.Fd()), old)
	}
}

// fit gives the process's terminal the size of the screen.
func (h *holder) fit(screen *os.File) {
	if screen == nil {
		return
	}
	if cols, rows, err := term.GetSize(int(screen.Fd())); err == nil {
		h.resize(Size{uint16(cols), uint16(rows)})
	}
}

func (h *holder) resize(s Size) {
	if s.Cols > 0 && s.Rows > 0 {
		_ = pty.Setsize(h.tty, &pty.Winsize{Cols: s.Cols, Rows: s.Rows})
	}
}

// bind makes the socket of those who attach. Without one the process runs all the
// same.
func bind(path string) net.Listener {
	if path == "" {
		return nil
	}
	_ = os.Remove(path) // its name was made for this holder
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil
	}
	if err := os.Chmod(path, 0o600); err != nil {
		_ = l.Close() // removes it
		return nil
	}
	return l
}

// serve accepts viewers until ctx ends.
func (h *holder) serve(ctx context.Context, wg *sync.WaitGroup, l net.Listener) {
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	wg.Go(func() {
		defer stop()
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { h.attached(ctx, c.(*net.UnixConn)) })
		}
	})
}

// attached serves one who attached until they leave or the process ends.
func (h *holder) attached(ctx context.Context, c *net.UnixConn) {
	defer c.Close()
	out := &frames{c: c}
	stop := context.AfterFunc(ctx, func() {
		_ = c.SetReadDeadline(time.Now())
		out.last()
	})
	defer stop()
	if !peer.Ours(c) {
		return
	}
	_ = c.SetReadDeadline(time.Now().Add(helloWait))
	kind, body, err := readFrame(c)
	if err == nil && kind == frameEndInput && len(body) == 1 && body[0] == protocol {
		out.patience()
		_ = writeFrame(c, frameEndInput, []byte{h.endInput()})
		return
	}
	if err != nil || kind != frameHello || len(body) != 5 || body[0] != protocol {
		return
	}
	size, err := decodeSize(body[1:])
	if err != nil {
		return
	}
	if _ = c.SetReadDeadline(time.Time{}); ctx.Err() != nil {
		return // it has ended meanwhile
	}
	if !h.shown {
		h.resize(size)
	}
	v := h.join(out, out.end)
	defer func() {
		h.leave(v)
		<-v.done
	}()
	for {
		kind, body, err := readFrame(c)
		if err != nil {
			return
		}
		switch kind {
		case frameInput:
			if _, err := h.tty.Write(body); err != nil {
				return
			}
		case frameResize:
			if size, err := decodeSize(body); err == nil && !h.shown {
				h.resize(size)
			}
		}
	}
}

// helloWait is how long a connection may take to send its hello.
const helloWait = 5 * time.Second

// frames writes output as frames to one who attached.
type frames struct {
	c     *net.UnixConn
	mu    sync.Mutex
	ended bool
}

// viewWait is how long a viewer may take to read one piece; then it is disconnected. After the end
// of the process it has lastWait altogether.
const (
	viewWait = 10 * time.Second
	lastWait = time.Second
)

func (f *frames) Write(b []byte) (int, error) {
	f.patience()
	return len(b), writeFrame(f.c, frameOutput, b)
}

// end tells the viewer that the process has ended; an error is ignored, because the connection
// closes anyway.
func (f *frames) end() {
	f.patience()
	if writeFrame(f.c, frameEnd, nil) == nil {
		_ = f.c.CloseWrite()
	}
}

func (f *frames) patience() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.ended {
		_ = f.c.SetWriteDeadline(time.Now().Add(viewWait))
	}
}

// last begins the last wait.
func (f *frames) last() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
	_ = f.c.SetWriteDeadline(time.Now().Add(lastWait))
}

// endInput types the terminal's end-of-input character, if it has one now, and reports whether it
// did.
func (h *holder) endInput() byte {
	t, err := unix.IoctlGetTermios(int(h.tty.Fd()), getTermios)
	if err != nil || t.Lflag&unix.ICANON == 0 {
		return inputRaw
	}
	eof := t.Cc[unix.VEOF]
	if eof == 0 || eof == 0xff { // switched off, on Linux or BSD
		return inputRaw
	}
	if _, err := h.tty.Write([]byte{eof}); err != nil {
		return inputRaw
	}
	return inputEnded
}
