//go:build linux

package cli_test

import (
	"strings"
	"testing"

	"waggle/internal/testenv"
)

// TestApproveName: on a terminal, approve with a member's name shows the member's one open request
// whole and asks; keys that were typed before are no answer.
func TestApproveName(t *testing.T) {
	t.Parallel()
	s := newShellSession(t)
	s.file(confirmTeam)
	t.Cleanup(func() { s.sweep() })
	s.press("$W up -d w.yaml\n")
	s.next("[status 0]")
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
	s := newShellSession(t)
	s.file(confirmTeam)
	t.Cleanup(func() { s.sweep() })
	s.press("$W up -d w.yaml\n")
	s.next("[status 0]")
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
