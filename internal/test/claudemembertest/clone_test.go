//go:build unix

package claudemembertest

import (
	"strings"
	"testing"
	"time"

	"waggle/internal/test/claudetest"
	"waggle/internal/test/testenv"
)

// TestCloneToAnswer: from a clone to the first answer of a real client a person types at most three lines, answers no
// question, and writes no file.
func TestCloneToAnswer(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	const most, answer = 3, "Build it with make: the Makefile says so."
	m := claudetest.NewModel(t, claudetest.Script(claudetest.Say(answer)))
	w, shop := newShop(t, m)
	r := &reader{t: t, s: w.H.StartProgram(w.H.Work, []string{"WAGGLE_SANDBOX=off", "ENV=", "PS1=> "}, "sh")}
	t.Cleanup(func() { w.Run("down", "--force") })
	began := time.Now()
	r.types("", 0, "git clone -q "+shop+" mine && cd mine")
	r.types("", 0, `waggle new "How do I build this?"`, `how-build +started +claude +waggle/mine/how-build`)
	w.until("the client has answered", func() bool { return strings.Contains(w.Run("peek", "how-build").Out, answer) })
	r.types("", 0, "waggle peek how-build", answer)
	testenv.Measured(t, "from a clone to the first answer of a real client: %d lines typed, %.1f s", r.times, time.Since(began).Seconds())
	if r.times > most {
		t.Errorf("%d lines, at most %d", r.times, most)
	}
}
