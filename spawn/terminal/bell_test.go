//go:build unix

package terminal_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/spawn/terminal"
)

// flags are the windows of the session mine that have a bell flag.
func (s *server) flags() string {
	s.t.Helper()
	return strings.TrimSpace(s.run("display-message", "-p", "-t", "mine:", "#{W:#{?window_bell_flag,#{window_index} ,}}"))
}

// flagged waits until the flags are these.
func (s *server) flagged(want string) {
	s.t.Helper()
	testenv.Eventually(s.t, "flags "+want, func() bool { return s.flags() == want }, s.flags)
}

// bell is that of a pane.
func (s *server) bell(pane string, shown bool) *terminal.TmuxBell {
	s.t.Helper()
	env := append([]string{"TMUX=" + s.socket + "," + s.run("display-message", "-p", "#{pid}") + ",0", "TMUX_PANE=" + pane}, s.env...)
	b, err := terminal.NewTmuxBell(s.program, env, shown)
	testenv.Must(s.t, err)
	return b
}

// What tmux would run or replace in a text is shown as text, to every client.
func TestTmuxBellText(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.run("-f", "/dev/null", "new-session", "-d", "-s", "mine", "-x", "80", "-y", "24", "sleep 600")
	client := exec.Command(s.program, "-S", s.socket, "-C", "attach", "-t", "mine")
	client.Env = s.env
	in, err := client.StdinPipe()
	testenv.Must(t, err)
	testenv.Must(t, client.Start())
	defer func() {
		in.Close()
		_ = client.Wait() // it ends because of its input
	}()
	testenv.Eventually(t, "a client", func() bool { return s.run("list-clients") != "" })
	b := s.bell("%0", false)
	ran := s.socket + ".ran"
	testenv.Must(t, b.Ring(t.Context(), "api", "one #(touch "+ran+") \x1b[2J#{pid} %H;"))
	name, _, _ := strings.Cut(s.run("list-clients", "-F", "#{client_name}"), "\n")
	if got, want := s.run("show-messages", "-t", name), " message: one _(touch "+ran+") _[2J_{pid} _H_\n"; !strings.Contains(got+"\n", want) {
		t.Errorf("shown is\n%s\nwant %q", got, want)
	}
	if got := s.run("show-options", "-w", "-t", "%0"); strings.Contains(got, "waggle") {
		t.Errorf("in sight, where there is no flag, it is ours: %s", got)
	}
	if err := s.bell("%0", true).Ring(t.Context(), "api", "in sight"); err != nil || strings.Contains(s.run("show-messages", "-t", name), "in sight") {
		t.Errorf("a pane that shows itself why rings in sight: %v", err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the text was run")
	}
}

// A tmux that does not answer, or answers without an end, does not hold the program.
func TestTmuxBellStuck(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program, begun := filepath.Join(dir, "tmux"), filepath.Join(dir, "begun")
	ring := func(ctx context.Context, script string) error {
		testenv.Must(t, testenv.Executable(program, []byte("#!/bin/sh\n"+script+"\n")))
		b, err := terminal.NewTmuxBell(program, []string{"PATH=/bin:/usr/bin", fmt.Sprintf("TMUX=%s/s,%d,0", dir, os.Getpid()), "TMUX_PANE=%0"}, false)
		testenv.Must(t, err)
		return b.Ring(ctx, "api", "waits")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { // a stopped server holds the output of its client like this sleep
		ended <- ring(ctx, "trap '' TERM; sleep 600 & echo $! >"+begun+".new; mv "+begun+".new "+begun+"; wait")
	}()
	var pid int
	testenv.Eventually(t, "it has begun", func() bool {
		b, err := os.ReadFile(begun)
		if err != nil {
			return false
		}
		pid, err = strconv.Atoi(strings.TrimSpace(string(b)))
		return err == nil
	})
	defer func() { _ = syscall.Kill(pid, syscall.SIGKILL) }()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "tmux did not answer in time") {
		t.Errorf("it ends with %v", err)
	}
	if err := ring(t.Context(), "yes | head -c 3000000"); err == nil || !strings.Contains(err.Error(), "tmux printed more than") {
		t.Errorf("what prints too much ends with %v", err)
	}
}

// A bell rings in the window that it is for, and its flag is removed again; a flag that another program has set stays.
func TestTmuxBell(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.run("-f", "/dev/null", "new-session", "-d", "-s", "mine", "-x", "80", "-y", "24", "sleep 600")
	for range 2 {
		s.run("new-window", "-t", "mine", "sleep 600")
	}
	b := s.bell("%0", false)
	testenv.Must(t, b.Ring(t.Context(), "api", "one waits"))
	s.flagged("0")
	testenv.Must(t, b.Quiet(t.Context(), "api"))
	s.flagged("")

	// Of two that ring in one window the last takes the flag back.
	for _, who := range []string{"api", "web"} {
		testenv.Must(t, b.Ring(t.Context(), who, "waits"))
		s.flagged("0")
	}
	for _, who := range []string{"none", "api"} {
		testenv.Must(t, b.Quiet(t.Context(), who))
		s.flagged("0")
	}
	testenv.Must(t, b.Quiet(t.Context(), "web"))
	s.flagged("")
	if got := s.run("show-options", "-w", "-t", "%0"); strings.Contains(got, "waggle") {
		t.Errorf("options stay: %s", got)
	}

	// So does the last of two that ring by one name in two panes of it.
	s.run("split-window", "-d", "-t", "%0", "sleep 600")
	beside := s.bell("%3", false)
	for _, one := range []*terminal.TmuxBell{b, beside} {
		testenv.Must(t, one.Ring(t.Context(), "-", "waits"))
		s.flagged("0")
	}
	for _, one := range []*terminal.TmuxBell{b, beside} {
		s.flagged("0")
		testenv.Must(t, one.Quiet(t.Context(), "-"))
	}
	s.flagged("")
	s.run("kill-pane", "-t", "%3")

	// What rings for nobody is not recorded.
	testenv.Must(t, b.Ring(t.Context(), "", "a test"))
	s.flagged("0")
	if got := s.run("show-options", "-w", "-t", "%0"); strings.Contains(got, "waggle") {
		t.Errorf("a test has set options: %s", got)
	}
	s.run("select-window", "-t", "mine:0")
	s.run("select-window", "-t", "mine:2")
	s.flagged("")

	// Where another window has a flag, ours stays with it.
	other := s.bell("%1", false)
	for _, one := range []*terminal.TmuxBell{b, other} {
		testenv.Must(t, one.Ring(t.Context(), "api", "waits"))
	}
	s.flagged("0 1")
	testenv.Must(t, b.Quiet(t.Context(), "api"))
	s.flagged("0 1")
	s.run("select-window", "-t", "mine:1")
	s.run("select-window", "-t", "mine:2")
	s.flagged("0")
	testenv.Must(t, b.Ring(t.Context(), "api", "waits")) // the flag was there before, and is another's now
	testenv.Must(t, b.Quiet(t.Context(), "api"))
	s.flagged("0")

	// A pane that is gone has no bell, and a server that is gone is not another one at its socket.
	s.run("kill-pane", "-t", "%0")
	if err := b.Ring(t.Context(), "api", "waits"); err == nil {
		t.Error("it rings for nobody in a pane that is gone")
	}
	if _, err := terminal.NewTmuxBell(s.program, s.env, false); err == nil {
		t.Error("a bell outside of tmux")
	}
	first := s.identity()
	testenv.Must(t, os.Remove(s.socket)) // another server takes it, while the first one lives
	s.run("-f", "/dev/null", "new-session", "-d", "-s", "mine", "sleep 600")
	rings := func() {
		t.Helper()
		if err := b.Ring(t.Context(), "api", "waits"); err == nil {
			t.Error("it rings in another server")
		}
		if got := s.flags(); got != "" {
			t.Errorf("flags %q", got)
		}
	}
	rings()
	testenv.Must(t, syscall.Kill(first.PID, syscall.SIGTERM))
	testenv.Eventually(t, "the first server has ended", func() bool { return !first.Alive() })
	rings()
}

// A flag is removed from the window in which it rang, though its pane was moved or closed since; what is gone with its
// window or its server is forgotten.
func TestTmuxBellMoved(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.run("-f", "/dev/null", "new-session", "-d", "-s", "mine", "-x", "80", "-y", "24", "sleep 600")
	s.run("split-window", "-d", "-t", "%0", "sleep 600") // %1
	s.run("new-window", "-t", "mine", "sleep 600")       // %2
	b := s.bell("%1", false)
	rung := func(do ...string) {
		t.Helper()
		testenv.Must(t, b.Ring(t.Context(), "api", "one waits"))
		testenv.Eventually(t, "a flag", func() bool { return s.flags() != "" })
		s.run(do...)
		if err := b.Quiet(t.Context(), "api"); err != nil {
			t.Errorf("%q: %v", do, err)
		}
		s.flagged("")
		if got := s.run("list-windows", "-a", "-F", "#{@waggle-rang-1-api}"); strings.TrimSpace(got) != "" {
			t.Errorf("%q: options stay: %s", do, got)
		}
	}
	rung("break-pane", "-d", "-s", "%1")                // to a window of its own
	rung("join-pane", "-d", "-s", "%1", "-t", "mine:0") // and back: its window is closed
	rung("kill-pane", "-t", "%1")
	first := s.identity()
	s.run("kill-server")
	testenv.Eventually(t, "the end of the server", func() bool { return !first.Alive() })
	if err := b.Quiet(t.Context(), "api"); err != nil {
		t.Errorf("without its server: %v", err)
	}
}
