//go:build unix

package claudetest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"waggle/internal/test/testenv"
)

// Session is an interactive client in a pane of the home's tmux server.
type Session struct {
	h      *Home
	socket string // of its tmux server
	pane   string
	PID    int // of the client
}

// Start starts an interactive session in Work. Without --permission-mode default
// 2.1.329 begins in auto mode. A prompt may be the last argument; it is the surest
// way to begin, because no key can be lost.
func (h *Home) Start(args ...string) *Session {
	h.t.Helper()
	return h.StartIn(h.Work, nil, args...)
}

// StartIn is Start in another directory below Root, with more environment.
func (h *Home) StartIn(dir string, env []string, args ...string) *Session {
	h.t.Helper()
	return h.StartProgram(dir, env, h.Claude, args...)
}

// StartProgram is StartIn for a program that becomes the client.
func (h *Home) StartProgram(dir string, env []string, program string, args ...string) *Session {
	h.t.Helper()
	testenv.Require(h.t, "tmux")
	h.began++
	tmux := []string{"new-session", "-d", "-P", "-F", "#{pane_id} #{pane_pid}", "-s", fmt.Sprintf("s%d", h.began), "-x", "120", "-y", "50", "-c", dir}
	if h.began == 1 {
		// The last output of a client stays on the screen.
		tmux = append([]string{"set-option", "-g", "remain-on-exit", "on", ";"}, tmux...)
		tmux = append([]string{"start-server", ";"}, tmux...)
	}
	for _, v := range env {
		tmux = append(tmux, "-e", v)
	}
	// env makes it two words at least, which tmux runs without a shell.
	return h.attach(h.socket, append(append(tmux, "env", program), args...)...)
}

// Pane is the client in the only pane of another tmux server of the home's user.
func (h *Home) Pane(socket string) *Session {
	h.t.Helper()
	return h.attach(socket, "display-message", "-p", "#{pane_id} #{pane_pid}")
}

// attach runs a command of a tmux server that says a pane and its process.
func (h *Home) attach(socket string, command ...string) *Session {
	h.t.Helper()
	s := &Session{h: h, socket: socket}
	out := s.tmux(command...)
	if _, err := fmt.Sscan(out, &s.pane, &s.PID); err != nil {
		h.t.Fatalf("tmux %q said %q", command, out)
	}
	return s
}

func (s *Session) tmux(args ...string) string {
	s.h.t.Helper()
	return s.h.output("tmux", append([]string{"-f", "/dev/null", "-S", s.socket}, args...)...)
}

// paneGroups lists the process groups of the panes whose client still runs: the number
// of one that has ended may be another's.
func (h *Home) paneGroups() []int {
	out, err := h.Command("tmux", "-S", h.socket, "list-panes", "-a", "-F", "#{?pane_dead,,#{pane_pid}}").Output()
	if err != nil {
		return nil // no server
	}
	var list []int
	for _, line := range strings.Fields(string(out)) {
		if pid, err := strconv.Atoi(line); err == nil && pid > 1 {
			list = append(list, pid)
		}
	}
	return list
}

// Screen is the text on the terminal.
func (s *Session) Screen() string {
	s.h.t.Helper()
	return s.tmux("capture-pane", "-p", "-t", s.pane)
}

// Type types text as it is, without Enter.
func (s *Session) Type(text string) {
	s.h.t.Helper()
	s.tmux("send-keys", "-t", s.pane, "-l", "--", text)
}

// Keys presses keys by their tmux names: Enter, Escape, Down, 1.
func (s *Session) Keys(names ...string) {
	s.h.t.Helper()
	s.tmux(append([]string{"send-keys", "-t", s.pane, "--"}, names...)...)
}

// WaitScreen waits until the screen matches the pattern, and returns the screen.
func (s *Session) WaitScreen(pattern string) string {
	s.h.t.Helper()
	return s.wait("never shows "+pattern, regexp.MustCompile(pattern).MatchString)
}

func (s *Session) wait(never string, ok func(string) bool) string {
	s.h.t.Helper()
	var screen string
	Until(s.h.t, func() string { return "the screen " + never + "\n" + screen }, func() bool {
		screen = s.Screen()
		return ok(screen)
	})
	return screen
}

// Choose presses a key in a dialog that matches the pattern and waits until the dialog
// is gone. A key pressed as a dialog appears can be lost (2.1.329 and 2.1.330), and one
// pressed twice would go to what comes next; so the arrow must move first, which shows
// that the dialog has the keys. A dialog that is painted anew on a busy machine can lose
// one even then: it is pressed again when the dialog stays.
func (s *Session) Choose(pattern, key string) {
	s.h.t.Helper()
	at := selected.FindString(s.WaitScreen(pattern + `(?s:.*)` + selected.String()))
	s.move("Down", "leaves "+at, func(now string) bool { return now != at })
	s.move("Up", "returns to "+at, func(now string) bool { return now == at })
	shown := regexp.MustCompile(pattern)
	s.press(key, 15*time.Second, "still shows "+pattern, func(screen string) bool { return !shown.MatchString(screen) })
}

// selected is the option of a dialog at which the arrow stands.
var selected = regexp.MustCompile(`❯ \d+\.`)

// move presses an arrow key, again if it was lost, until the arrow stands right.
func (s *Session) move(key, never string, ok func(at string) bool) {
	s.h.t.Helper()
	s.press(key, 3*time.Second, "has an arrow that never "+never, func(screen string) bool { return ok(selected.FindString(screen)) })
}

// press presses a key, and again after each pause, until the screen is as wanted.
func (s *Session) press(key string, again time.Duration, never string, ok func(screen string) bool) {
	s.h.t.Helper()
	var pressed time.Time
	s.wait(never, func(screen string) bool {
		if ok(screen) {
			return true
		}
		if time.Since(pressed) > again {
			s.Keys(key)
			pressed = time.Now()
		}
		return false
	})
}

// Ask types a prompt into the idle session and sends it. Text that stood in the prompt is removed.
func (s *Session) Ask(prompt string) {
	s.h.t.Helper()
	s.WaitScreen(`(?m)^❯`)
	s.Keys("C-u")
	s.Type(prompt)
	s.WaitScreen(`(?m)^❯.` + regexp.QuoteMeta(prompt))
	s.Keys("Enter")
}

// Registered waits until the session's entry in the registry is there and ok holds
// for it.
func (s *Session) Registered(what string, ok func(Registered) bool) Registered {
	s.h.t.Helper()
	var r Registered
	Until(s.h.t, func() string { return fmt.Sprintf("registry: %s: %+v\n%s", what, r, s.Screen()) }, func() bool {
		var found bool
		r, found = s.h.Registry(s.PID)
		return found && ok(r)
	})
	return r
}

// Ended reports whether the client has ended, and its exit status.
func (s *Session) Ended() (status int, ended bool) {
	s.h.t.Helper()
	out := s.tmux("display-message", "-p", "-t", s.pane, "#{pane_dead} #{pane_dead_status}")
	dead, code, _ := strings.Cut(strings.TrimSpace(out), " ")
	status, _ = strconv.Atoi(code)
	return status, dead == "1"
}

// WaitEnded waits until the client has ended and returns its exit status.
func (s *Session) WaitEnded() int {
	s.h.t.Helper()
	var status int
	Until(s.h.t, func() string { return "the client still runs\n" + s.Screen() }, func() (ended bool) {
		status, ended = s.Ended()
		return ended
	})
	return status
}

// Kill kills the client and its process group with SIGKILL, as a crash does. Processes that have left
// the group stay until the end of the test or Home.Kill.
func (s *Session) Kill() {
	s.h.t.Helper()
	_ = syscall.Kill(-s.PID, syscall.SIGKILL)
	s.WaitEnded()
}
