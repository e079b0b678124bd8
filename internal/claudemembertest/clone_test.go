//go:build unix

package claudemembertest

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waggle/internal/claudetest"
	"waggle/internal/testenv"
)

// TestCloneToAnswer: from a clone to the first answer of a real client a person types at most three lines, answers no
// question, and writes no file.
func TestCloneToAnswer(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	const most, answer = 3, "Build it with make: the Makefile says so."
	versions := claudetest.Versions()
	m := claudetest.NewModel(t, claudetest.Script(claudetest.Say(answer)))
	h := claudetest.NewOwnHome(t, versions[len(versions)-1], m)
	program, err := exec.LookPath("waggle")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, m: m, h: h, bin: h.Install(program)}
	shop := h.Repo("shop")
	h.WriteFile(filepath.Join(h.Home, ".gitconfig"), "[user]\n\tname = t\n\temail = t@example.com\n", 0o600)
	r := &reader{t: t, s: h.StartProgram(h.Work, []string{"WAGGLE_SANDBOX=off", "ENV=", "PS1=> "}, "sh")}
	t.Cleanup(func() { w.run("down", "--force") })
	began := time.Now()
	r.types("", 0, "git clone -q "+shop+" mine && cd mine")
	r.types("", 0, `waggle new "How do I build this?"`, `how-build +started +claude +waggle/mine/how-build`)
	w.until("the client has answered", func() bool { return strings.Contains(w.run("peek", "how-build").out, answer) })
	r.types("", 0, "waggle peek how-build", answer)
	testenv.Measured(t, "from a clone to the first answer of a real client: %d lines typed, %.1f s", r.times, time.Since(began).Seconds())
	if r.times > most {
		t.Errorf("%d lines, at most %d", r.times, most)
	}
}
