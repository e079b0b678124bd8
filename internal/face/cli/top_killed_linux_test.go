//go:build linux

package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"waggle/internal/face/ask"
	"waggle/internal/test/testenv"
)

// modes are the terminal's.
func (s *shellSession) modes() unix.Termios {
	s.t.Helper()
	t, err := unix.IoctlGetTermios(int(s.tty.Fd()), unix.TCGETS)
	testenv.Must(s.t, err)
	return *t
}

// screen opens the full screen, and returns the modes from before.
func (s *shellSession) screen() (before unix.Termios) {
	s.t.Helper()
	before = s.modes()
	s.press("$W top\n")
	s.next("need you")
	testenv.Eventually(s.t, "keys come to the screen", func() bool { return !s.canonical() })
	return before
}

// offs is how often the terminal was told that a full screen has ended.
func (s *shellSession) offs() int { return strings.Count(s.text(), ask.ScreenOff) }

// kills kills the full screen, which ends without a word to the terminal.
func (s *shellSession) kills() {
	s.t.Helper()
	testenv.Must(s.t, syscall.Kill(s.job(), syscall.SIGKILL))
	s.nextOf("[status 137]", "Killed")
	if s.offs() != 0 {
		s.t.Errorf("the screen has ended by itself: %q", s.text())
	}
}

// TestTopKilled: after SIGKILL of the full screen the next start of waggle brings the terminal back, whose modes the shell has
// left as they are, and the one after that leaves it alone.
func TestTopKilled(t *testing.T) {
	t.Parallel()
	s := newShellSession(t)
	before := s.screen()
	s.kills()
	if s.canonical() {
		t.Error("the shell has brought the modes back")
	}
	for range 2 {
		s.press("$W version\n")
		s.next("[status 0]")
	}
	if got := s.modes(); got != before || s.offs() != 1 {
		t.Errorf("told %d times; modes %+v, want %+v", s.offs(), got, before)
	}
}

// TestTopKilledInBash: a shell that sets its own modes again leaves mouse and second page to the next start of waggle.
func TestTopKilledInBash(t *testing.T) {
	testenv.Long(t)
	bash := testenv.Require(t, "bash")
	t.Parallel()
	s := newShellSession(t)
	s.press("exec " + bash + " --norc --noprofile -i\n")
	s.press("PS1='ready''> '; HISTFILE=\n")
	s.next("ready> ")
	s.press("$W top\r")
	s.next("need you")
	s.kills()
	s.next("ready> ")
	s.press("$W version &\r") // in the background it has no terminal to bring back
	s.next("ready> ")
	s.press("wait\r")
	s.next("ready> ")
	if s.offs() != 0 {
		t.Errorf("from the background: %q", s.text())
	}
	for range 2 {
		s.press("$W version\r")
		s.next("ready> ")
	}
	if s.offs() != 1 {
		t.Errorf("told %d times: %q", s.offs(), s.text())
	}
}

// TestTopEndedBySignal: a signal that can be caught ends the full screen, and the terminal is as it was before.
func TestTopEndedBySignal(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			s := newShellSession(t)
			before := s.screen()
			testenv.Must(t, syscall.Kill(s.job(), sig))
			s.next("[status ")
			if got := s.modes(); got != before || s.offs() != 1 {
				t.Errorf("told %d times; modes %+v, want %+v", s.offs(), got, before)
			}
		})
	}
}

// TestTopEndedUnread: a signal ends the full screen, and its modes, on a terminal that takes no output, too.
func TestTopEndedUnread(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cmd := exec.CommandContext(t.Context(), binary(t))
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "TERM=xterm-256color", "HOME="+dir, "WAGGLE_ROOT="+filepath.Join(dir, "root"), "WAGGLE_STATE="+filepath.Join(dir, "state"))
			far, near, err := pty.Open()
			testenv.Must(t, err)
			defer far.Close()
			defer near.Close()
			if err := pty.Setsize(near, &pty.Winsize{Rows: 200, Cols: 500}); err != nil { // a frame is more than the terminal keeps
				t.Fatal(err)
			}
			before, err := unix.IoctlGetTermios(int(near.Fd()), unix.TCGETS)
			testenv.Must(t, err)
			cmd.Stdin, cmd.Stdout, cmd.Stderr = near, near, near
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			testenv.Must(t, cmd.Start())
			last, same := 0, 0
			testenv.Eventually(t, "the terminal is full", func() bool {
				n, err := unix.IoctlGetInt(int(far.Fd()), unix.TIOCINQ)
				if err != nil || n != last || n < 1000 {
					last, same = n, 0
				}
				same++
				return same > 20
			})
			testenv.Must(t, cmd.Process.Signal(sig))
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			testenv.Eventually(t, "the screen ends", func() bool { return len(ended) == 1 })
			if after, err := unix.IoctlGetTermios(int(near.Fd()), unix.TCGETS); err != nil || *after != *before {
				t.Errorf("modes %+v, want %+v: %v", after, before, err)
			}
		})
	}
}
