//go:build unix

package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waggle/internal/test/testenv"
)

// TestTopAcceptsSetup: n on the screen asks about the setup of a waggle.yaml that was only found; y accepts it
// as waggle new does, and x starts a member without it.
func TestTopAcceptsSetup(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	git := testenv.Require(t, "git")
	file := func(text string) string {
		return "team: other\nworktree: {setup: [\"touch " + text + "\"]}\nmembers: []\n"
	}
	u := newTmux(t, file("once"))
	u.repository(git)
	name := filepath.Base(u.dir)
	u.tmux("resize-window", "-t", "mine:", "-x", "120", "-y", "40")
	u.types("WAGGLE_SANDBOX=off waggle top")
	defer u.waggle("down", "--force", name)
	begins := func(task, found string) {
		t.Helper()
		u.answers("n", "new task, of a new member")
		u.words("exec: " + task)
		u.answers("Enter", found)
	}
	answers := func(key string) { // until it is taken, and not again
		t.Helper()
		u.again(key+" is taken", 2*time.Second, func() bool { return !strings.Contains(u.screen(), "Setup of the new member's worktree") }, func() { u.presses(key) })
	}
	made := func(what string) []string {
		t.Helper()
		paths, err := filepath.Glob(filepath.Join(u.dir+"-trees", "*", "*", what))
		testenv.Must(t, err)
		return paths
	}
	begins("cat one", "found "+filepath.Join(u.dir, "waggle.yaml"))
	u.shows("| touch once")
	u.presses("Escape")
	u.shows("nothing was started")
	if out, err := os.ReadDir(filepath.Join(u.state, "teams")); err == nil {
		t.Fatalf("a team was made: %v", out)
	}
	begins("cat one", "| touch once")
	answers("a")
	u.shows("cat-one of team " + name + " is")
	u.until("the setup has run", func() bool { return len(made("once")) == 1 })
	// The setup is accepted for the team: new by command runs it without a question.
	u.does(0, "new", "exec", "cat two")
	u.until("it has run again", func() bool { return len(made("once")) == 2 })

	writeFile(t, filepath.Join(u.dir, "waggle.yaml"), file("again"))
	begins("cat three", "has changed since you accepted it")
	u.shows("| touch again")
	answers("d")
	u.shows("cat-three of team " + name + " is")
	if paths := append(made("again"), made("once")...); len(paths) != 2 {
		t.Errorf("the setup of %s ran", strings.Join(paths, " "))
	}
	u.presses("q")
}
