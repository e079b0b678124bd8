//go:build unix

package claudemembertest

import (
	"strings"
	"testing"

	"waggle/internal/test/claudetest"
)

// A person takes the session while its call is asked: the call is withdrawn, the client shows the session with its
// history and takes words, and when it has ended the member goes on in the same session, with its task.
func TestTake(t *testing.T) {
	claudetest.Each(t, func(t *testing.T, version string) {
		takes(t, version, func(*world) {}, "by its own rules, and waggle", byCommand)
	})
}

// The same on the screen, which is back when the client has ended.
func TestTakeOnTheScreen(t *testing.T) {
	claudetest.Each(t, func(t *testing.T, version string) {
		takes(t, version, func(*world) {}, "by its own rules, and waggle", func(w *world) (*claudetest.Session, func()) {
			s := w.H.StartProgram(w.H.Work, nil, w.Bin, "top", "--team", "crew")
			s.WaitScreen("bob asks")
			s.Type("t")
			return s, func() {
				s.WaitScreen("bob goes on by itself")
				s.Type("q")
				s.WaitEnded()
			}
		})
	})
}

// byCommand opens the client by waggle take; leaves is called when the client was told to end.
func byCommand(w *world) (s *claudetest.Session, leaves func()) {
	s = w.H.StartProgram(w.H.Work, nil, w.Bin, "take", "bob", "--team", "crew")
	return s, func() { s.WaitEnded() }
}

func takes(t *testing.T, version string, before func(*world), says string, opens func(*world) (*claudetest.Session, func())) {
	w := newWorld(t, version, func(r claudetest.Request) claudetest.Turn {
		switch said := r.Said(); {
		case strings.Contains(said, "has given it back"):
			return claudetest.Mark("two")
		case strings.Contains(said, "hello from me"):
			return claudetest.Say("hello to you")
		case r.Turns() == 0:
			return claudetest.Mark("one")
		}
		return claudetest.Say("done")
	}, "")
	before(w)
	w.start() // the tmux server with the person's session outlives the team
	w.give("mark", "mark it")
	w.pending(">>one")
	first := w.M.Await("the task", func(r claudetest.Request) bool { return strings.Contains(r.Said(), "mark it") })

	s, leaves := opens(w)
	s.WaitScreen(says)
	s.Ask("hello from me")
	mine := w.M.Await("the person's words", func(r claudetest.Request) bool { return strings.Contains(r.Said(), "hello from me") })
	s.WaitScreen("hello to you")
	if mine.Session != first.Session || !strings.Contains(mine.String(), "mark it") {
		t.Errorf("session %q with\n%s\nwant %q", mine.Session, mine, first.Session)
	}
	if out := w.OK("status", "crew", "--json"); !strings.Contains(out, `"state": "taken"`) {
		t.Errorf("status: %s", out)
	}
	if out := w.OK("pending", "--team", "crew"); strings.Contains(out, ">>one") {
		t.Errorf("pending: %s", out)
	}
	s.Ask("/exit")
	leaves()

	again := w.M.Await("the session is back", func(r claudetest.Request) bool { return strings.Contains(r.Said(), "has given it back") })
	if again.Session != first.Session || !strings.Contains(again.String(), "hello to you") {
		t.Errorf("session %q with\n%s\nwant %q", again.Session, again, first.Session)
	}
	w.OK("approve", w.pending(">>two"), "--team", "crew")
	w.completed()
	w.Ran("one", 0)
	w.Ran("two", 1)
}
