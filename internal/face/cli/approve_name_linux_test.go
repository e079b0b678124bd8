//go:build linux

package cli_test

import (
	"strings"
	"testing"

	"github.com/creack/pty"

	"waggle/internal/test/testenv"
)

// TestApproveName: on a terminal, approve with a member's name shows the member's one open request
// whole and asks; keys that were typed before are no answer.
func TestApproveName(t *testing.T) {
	t.Parallel()
	s := newTeamSession(t, confirmTeam)
	s.up()
	want := s.pending()
	s.press("$W approve alice\na\na")
	handle, typed := s.asks()
	if handle != want || typed {
		t.Fatalf("it asks for %s (typed %v), not for %s:\n%s", handle, typed, want, s.text())
	}
	if len(s.verdicts()) > 0 {
		t.Fatalf("what was typed before the question was an answer:\n%s", s.text())
	}
	s.stood()
	s.key("a", "[status 0]")
	if vs := s.verdicts(); len(vs) != 1 || vs[0].Decision != "allow" {
		t.Errorf("%+v:\n%s", vs, s.text())
	}
}

// TestDenyName: on a terminal, deny with a member's name shows the member's one open request whole, asks only
// whether to deny it, and gives the reason of -m.
func TestDenyName(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	s := newTeamSession(t, confirmTeam)
	s.up()
	s.pending()
	s.press("$W deny alice -m 'not today'\n")
	s.next("deny it?")
	if strings.Contains(s.text(), "allow it?") {
		t.Fatalf("deny asks whether to allow:\n%s", s.text())
	}
	for said := ""; said != "[status 0]"; said = s.nextOf("[status 0]", tooEarly) {
		s.stood()
		s.press("y")
	}
	if vs := s.verdicts(); len(vs) != 1 || vs[0].Decision != "deny" || !strings.Contains(s.text(), "not today") {
		t.Errorf("%+v:\n%s", vs, s.text())
	}
}

// TestPromptOfSixLines: the question of approve NAME has six lines on a terminal of 80 columns and stands there once; a
// command that does not fit is not allowed before v has shown all of it; r allows and makes the rule that is shown.
func TestPromptOfSixLines(t *testing.T) {
	t.Parallel()
	s := newTeamSession(t, "team: prompt\nsandbox: {mode: off}\nmembers: [{name: alice, agent: exec}, {name: bob, agent: exec}]\n"+
		"tasks: [{subject: s, owner: alice, instructions: touch made}, {subject: l, owner: bob, instructions: \"touch b1\\ntouch b2\\ntouch b3\\ntouch b4\"}]\n")
	testenv.Must(t, pty.Setsize(s.tty, &pty.Winsize{Rows: 24, Cols: 80}))
	s.up()
	testenv.Eventually(t, "two questions", func() bool { return strings.Count(s.elsewhere("pending", "--json"), `"handle"`) == 2 }, func() string { return "" })

	from := len(s.text())
	s.press("$W approve alice\n")
	handle, _ := s.asks()
	_, shown, _ := strings.Cut(s.text()[from:], "\r\n"+handle+"  ")
	if lines := strings.Split(shown, "\r\n"); len(lines) > 6 || !strings.Contains(shown, "  | touch made\r\n") || !strings.Contains(shown, "r adds Bash(touch made) for alice") {
		t.Errorf("%d lines:\n%s", len(lines), shown)
	}
	s.stood()
	s.key("r", "allowed once, with the rule")
	s.next("[status 0]")
	if n := strings.Count(s.text()[from:], handle+"  medium risk"); n != 1 {
		t.Errorf("painted %d times:\n%s", n, s.text()[from:])
	}
	if !strings.Contains(s.elsewhere("policy", "list"), "Bash(touch made)") {
		t.Error("the rule was not made")
	}

	s.press("$W approve bob\n")
	handle, _ = s.asks()
	s.stood()
	s.refused("a", "not taken: v shows all of it first")
	s.none("what was shown in part", 1)
	s.stood() // no key within Settle of the a
	s.key("v", "digest ")
	if all := s.text(); !strings.Contains(all, "handle   "+handle) || !strings.Contains(all, "  | touch b4\r\n") {
		t.Errorf("v has not shown all of it:\n%s", all)
	}
	s.next(hintEnds)
	s.stood()
	s.key("a", "[status 0]")
	if v := s.decided(2); v.Decision != "allow" {
		t.Errorf("decided %+v", v)
	}
}
