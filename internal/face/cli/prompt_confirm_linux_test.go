//go:build linux

package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waggle/internal/face/ask"
	"waggle/internal/test/testenv"
)

// confirms are the questions that are answered by y or n. before is done first; done says
// whether the command has had its effect.
var confirms = []struct {
	name, question string
	before         func(s *shellSession) (command string)
	done           func(s *shellSession) bool
}{
	{"run a file that was found", "run it?", func(s *shellSession) string {
		testenv.Must(s.t, os.Rename(filepath.Join(s.dir, "w.yaml"), filepath.Join(s.dir, "waggle.yaml")))
		return "$W up -d"
	}, func(s *shellSession) bool { return exists(s.dir, "state", "teams") }},
	{"new with a setup that was found", "prepare worktrees so?", func(s *shellSession) string {
		s.press("git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m first; export WAGGLE_WORKTREES=" + s.t.TempDir() + "\n")
		s.next("[status 0]")
		writeFile(s.t, filepath.Join(s.dir, "waggle.yaml"), "team: other\nworktree: {setup: [touch made]}\nmembers: []\n")
		return "$W new exec true"
	}, func(s *shellSession) bool { return exists(s.dir, "state", "teams") }},
	{"approve --input", "allow it?", func(s *shellSession) string {
		s.up()
		return "$W approve " + s.pending() + ` --input '{"command":"touch instead"}'`
	}, func(s *shellSession) bool { return len(s.verdicts()) > 0 }},
	{"net allow of a wildcard", "open them?", func(s *shellSession) string {
		s.up()
		return "$W net allow '*.example.com:443' --until 1h --for alice"
	}, func(s *shellSession) bool {
		return strings.Contains(s.elsewhere("net", "list", "--json"), "example.com")
	}},
	{"hooks install", "settings.json?", func(s *shellSession) string {
		s.press("export CLAUDE_CONFIG_DIR=" + s.dir + "/claude HOME=" + s.dir + "\n")
		s.next("[status 0]")
		return "$W hooks install"
	}, func(s *shellSession) bool { return exists(s.dir, "claude", "settings.json") }},
	{"uninstall", "remove these files?", func(s *shellSession) string {
		installed(s, "p")
		return "$W uninstall --prefix p"
	}, func(s *shellSession) bool { return !exists(s.dir, "p", "bin", "waggle") }},
	{"resume with a changed file", "go on with what was accepted?", func(s *shellSession) string {
		s.press("$W up w.yaml\n")
		s.next("is up")
		s.asks()
		s.die()
		s.file(strings.Replace(confirmTeam, "touch made", "touch other", 1))
		return "$W resume -d"
	}, nil}, // the exit code shows the effect
}

const confirmTeam = "team: prompt\nsandbox: {mode: off}\nmembers: [{name: alice, agent: exec}]\ntasks: [{subject: s, owner: alice, instructions: touch made}]\n"

// pending waits for the one open question and returns its handle.
func (s *shellSession) pending() string {
	s.t.Helper()
	var doc struct{ Pending []struct{ Handle string } }
	var out string
	var err error
	testenv.Eventually(s.t, "one question is open", func() bool {
		doc.Pending, out = nil, s.elsewhere("pending", "--json")
		err = json.Unmarshal([]byte(out), &doc)
		return err == nil && len(doc.Pending) == 1
	}, func() string { return fmt.Sprintf("pending: %v\n%s", err, out) })
	return doc.Pending[0].Handle
}

// TestConfirmMatrix: keys that were typed before a question of yes or no, a paste, a line
// and other keys are no answer to it; Enter alone is no; y is yes.
func TestConfirmMatrix(t *testing.T) {
	testenv.Long(t)
	for _, c := range testenv.Rows(t, confirms, 2) {
		t.Run(c.name, func(t *testing.T) {
			yes := c.done
			s := newTeamSession(t, confirmTeam)
			command := c.before(s)
			if c.done == nil {
				c.done = func(*shellSession) bool { return false }
			}
			ends := c.question + " [y/N] "
			refused := func(keys string) {
				t.Helper()
				for {
					s.stood()
					<-time.After(ask.Stand) // where the line is wide the same is said once a second
					s.press(keys)
					if s.nextOf("one key at a time", tooEarly) != tooEarly {
						break
					}
					s.next(ends)
				}
				s.next(ends)
			}
			s.press(command + "\ny\ny")
			s.next(ends)
			s.press("y")
			s.next(tooEarly)
			s.next(ends)
			refused("y\r")
			refused("\x1b[200~y\r\x1b[201~")
			refused("yy")
			if c.done(s) {
				t.Fatalf("what is no answer was one:\n%s", s.text())
			}
			s.stood()
			s.key("\r", "no\r\n")
			if s.nextOf("[status 0]", "[status 6]") != "[status 6]" || c.done(s) {
				t.Fatalf("Enter was not no:\n%s", s.text())
			}
			s.press(command + "\n")
			s.next(ends)
			s.stood()
			s.key("y", "yes\r\n")
			s.next("[status 0]")
			if yes != nil && !yes(s) {
				t.Errorf("yes was not yes:\n%s", s.text())
			}
		})
	}
}
