//go:build linux

package cli_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"waggle/internal/face/ask"
	"waggle/internal/test/testenv"
)

// shown opens the full screen of a team by a line, and waits until a request stands there.
func (s *shellSession) shown(line string) {
	s.t.Helper()
	s.press(line)
	s.next(" asks: Bash")
}

// answeredOnScreen fails unless so many requests were decided on the screen.
func (s *shellSession) answeredOnScreen(what string, n int) {
	s.t.Helper()
	got := 0
	for _, v := range s.verdicts() {
		if v.Via == "top" {
			got++
		}
	}
	if got != n {
		s.t.Fatalf("%s: %d decisions on the screen, want %d\n%s", what, got, n, s.text())
	}
}

// settled waits until what was typed has been taken or dropped.
func (s *shellSession) settled() { <-time.After(ask.Stand * 2) } // real clock: the screen's

const shellTeam = "team: prompt\nsandbox: {mode: off}\n%smembers: [{name: alice, agent: exec}, {name: bob, agent: exec}]\n" +
	"tasks: [{subject: a, owner: alice, instructions: touch made-a}, {subject: b, owner: bob, instructions: touch made-b}]\n"

// led starts the team and waits until both ask.
func (s *shellSession) led(t *testing.T, more string) {
	t.Helper()
	testenv.Must(t, pty.Setsize(s.tty, &pty.Winsize{Rows: 40, Cols: 120}))
	s.file(fmt.Sprintf(shellTeam, more))
	t.Cleanup(func() { s.sweep() })
	s.up()
}

// TestTopInShell has the steps of the prompts' matrix that need a shell: lines from before the screen, and a stop and fg.
func TestTopInShell(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	s := newShellSession(t)
	s.led(t, "")
	s.shown("$W top\na\na") // a whole line and half a line from before
	s.settled()
	s.answeredOnScreen("what was typed before", 0)
	for _, typed := range []string{"", "a"} {
		testenv.Must(t, syscall.Kill(s.job(), syscall.SIGSTOP))
		s.next("[status 147]")
		s.shown("fg\n" + typed)
		s.press("a") // at once
		s.settled()
		s.answeredOnScreen("right after fg", 0)
	}
	testenv.Eventually(t, "a key that stands alone answers", func() bool {
		s.press("a")
		s.settled()
		for _, v := range s.verdicts() {
			if v.Via == "top" && v.Decision == "allow" {
				return true
			}
		}
		return false
	})
	s.press("q")
	s.next("[status 0]")
	if !s.canonical() {
		t.Error("the terminal has no echo after the screen")
	}
}

// TestTopDeadline: keys for a request whose time is over, also a line that was begun for it, answer neither it nor the next one.
func TestTopDeadline(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	s := newShellSession(t)
	s.led(t, "deadline: 9s\n")
	s.shown("$W top\n")
	s.settled()
	s.press("d")
	s.next(", because (Enter sends it")
	s.next("timed out, so it is denied")
	s.settled()
	s.press("\r")
	s.next("nothing was decided")
	s.settled()
	s.press("a")
	testenv.Eventually(t, "the time of both is over", func() bool { return len(s.verdicts()) == 2 })
	s.press("a")
	s.settled()
	s.answeredOnScreen("keys for what was over", 0)
	for _, v := range s.verdicts() {
		if v.Decision != "deny" || v.By != "system" {
			t.Errorf("decided %+v", v)
		}
	}
	s.press("q")
	s.next("[status 0]")
}
