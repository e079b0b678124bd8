//go:build unix

package sessiontest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"waggle/internal/claude/session"
	"waggle/internal/test/claudetest"
)

// TestHalt: waggle stop --all --sessions denies what a session asks and refuses its next calls, also those that its own
// rules allow. When its person types there, it goes on.
func TestHalt(t *testing.T) {
	claudetest.Each(t, func(t *testing.T, version string) {
		// It asks until it was refused twice, and again for what comes after "go on".
		asks := func(r claudetest.Request) claudetest.Turn {
			switch since := r.Since("go on"); {
			case since == 0:
				return claudetest.Mark("third")
			case since > 0:
				return claudetest.Say("said again")
			case r.Turns() < 2:
				return claudetest.Mark([]string{"first", "second"}[r.Turns()])
			}
			return claudetest.Say("refused")
		}
		w := newWorld(t, version, claudetest.ByMarker(map[string]claudetest.Next{
			"marker-asks": asks,
			"marker-runs": claudetest.Script(claudetest.Bash("touch began && cat gate"), claudetest.Bash("cat next"), claudetest.Say("never said")),
		}))
		s := w.H.Start("--permission-mode", "default", "marker-asks")
		r := w.asked(">>first")
		s.WaitScreen(`first\s(?s:.*)` + dialog)
		if out := w.OK("stop", "--all"); !strings.Contains(out, "1 session of yours goes on") {
			t.Errorf("without --sessions: %s", out)
		}
		if out := w.OK("stop", "--all", "--sessions", "-m", "wrong branch"); !strings.Contains(out, "was denied "+r.Handle) {
			t.Errorf("with --sessions: %s", out)
		}
		w.state(">>first", session.StateAnswered)
		s.WaitScreen("wrong branch")
		idle := func(what string) {
			claudetest.Until(t, func() string { return what + ": it is not idle: " + s.Screen() }, func() bool {
				return strings.Contains(w.OK("status", "--json"), `"state": "idle"`)
			})
		}
		idle("after its denial")
		w.Ran("first", 0)

		// It goes on when its person types.
		s.Ask("go on")
		s.Choose(`third\s(?s:.*)`+dialog, "1")
		s.WaitScreen("said again")
		w.Ran("second", 0)
		w.Ran("third", 1)

		// A call that its own rules allow, and of which no hook asks anybody. It runs when all is stopped.
		gate := filepath.Join(w.H.Work, "gate")
		if err := errors.Join(syscall.Mkfifo(gate, 0o600), os.Chmod(gate, 0o666)); err != nil { // the client may be another user's
			t.Fatal(err)
		}
		runs := w.H.Start("--permission-mode", "default", "--allowedTools", "Bash(touch:*),Bash(cat:*)", "--", "marker-runs")
		began := func() bool { _, err := os.Stat(filepath.Join(w.H.Work, "began")); return err == nil }
		claudetest.Until(t, func() string { return "it does not begin: " + runs.Screen() }, began)
		w.OK("stop", "--all", "--sessions")
		claudetest.Until(t, func() string { return "its call does not run: " + runs.Screen() }, func() bool {
			f, err := os.OpenFile(gate, os.O_WRONLY|syscall.O_NONBLOCK, 0)
			return err == nil && f.Close() == nil
		})
		runs.WaitScreen("hook stopped")
		idle("after its call")
		if strings.Contains(runs.Screen(), "never said") {
			t.Errorf("it went on: %s", runs.Screen())
		}
	})
}
