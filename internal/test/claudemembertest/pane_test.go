//go:build unix

package claudemembertest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"waggle/internal/claude"
	"waggle/internal/test/claudetest"
	"waggle/internal/test/testenv"
)

// eachInPane runs a test for every version that can be a member in a pane, side by side.
func eachInPane(t *testing.T, test func(t *testing.T, version string)) {
	for _, version := range claudetest.Versions() {
		v, err := claude.ParseVersion(version)
		testenv.Must(t, err)
		if (claude.Found{Version: v}).InPane() != nil {
			continue
		}
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			test(t, version)
		})
	}
}

// newPane is newWorld with bob in a pane.
func newPane(t *testing.T, version string, next claudetest.Next, member string) *world {
	t.Helper()
	testenv.Require(t, "tmux")
	w := newWorld(t, version, next, ", backend: tmux"+member)
	t.Cleanup(func() {
		if w.T.Failed() {
			w.T.Log(w.Run("peek", "bob", "--team", "crew", "-n", "50").Out)
		}
	})
	return w
}

// pane is bob's pane.
func (w *world) pane() *claudetest.Session {
	w.T.Helper()
	socket := ""
	w.until("there is a tmux server", func() bool {
		_ = filepath.WalkDir(w.H.Root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type() == fs.ModeSocket && d.Name() == "tmux.sock" {
				socket = path
			}
			return nil
		})
		return socket != ""
	})
	return w.H.Pane(socket)
}

// closed waits until a request of bob is closed, and returns the worker's record of it.
func (w *world) closed(words string) string {
	w.T.Helper()
	var found string
	w.until("a record with "+words, func() bool {
		for _, line := range strings.Split(w.OK("log", "bob", "--team", "crew", "--kind", "answered", "--json"), "\n") {
			if strings.Contains(line, words) {
				found = line
			}
		}
		return found != ""
	})
	return found
}

// A member in a pane does the same, with its dialog on the screen.
func TestPaneAskDenyReport(t *testing.T) {
	eachInPane(t, func(t *testing.T, version string) {
		askDenyReport(t, version, newPane, func(w *world) { w.pane().WaitScreen("Do you want to proceed") })
	})
}

// A key that is pressed in the pane first decides: the request is closed as answered there, by the
// client's hooks and its registry, and a later answer has no effect.
func TestPaneKeyFirst(t *testing.T) {
	eachInPane(t, func(t *testing.T, version string) {
		w := newPane(t, version, claudetest.Script(claudetest.Mark("one"), claudetest.Say("done"), claudetest.Mark("two"), claudetest.Say("over")), "")
		w.works("mark", "mark it")
		id := w.pending(">>one")
		w.pane().Choose(`(?s)>>one.*Do you want to proceed`, "1")
		if line := w.closed("answered in the pane"); !strings.Contains(line, "allowed, and it ran") {
			t.Errorf("the record says %s", line)
		}
		if s := w.Run("deny", id, "--team", "crew", "-m", "too late"); s.Code == 0 {
			t.Errorf("a late denial is taken: %s", s.Out)
		}
		w.completed()
		w.Ran("one", 1)
		w.give("again", "mark the other")
		w.pending(">>two")
		w.pane().Choose(`(?s)>>two.*Do you want to proceed`, "2")
		w.closed("answered in the pane: denied")
		w.until("the turn that was interrupted in the pane has failed", func() bool {
			return strings.Contains(w.OK("log", "bob", "--team", "crew", "--json"), "interrupted in the pane")
		})
		w.Ran("two", 0)
	})
}

// The model's questions are answered in the list, and a plan is approved there.
func TestPaneQuestionAndPlan(t *testing.T) {
	eachInPane(t, func(t *testing.T, version string) {
		q := claudetest.Question{Question: "Which one?", Header: "W", Options: []string{"Left", "Right"}}
		w := newPane(t, version, claudetest.Script(claudetest.Mark("early"), claudetest.AskUserQuestion(q), claudetest.WritePlan("first this"), claudetest.ExitPlanMode(),
			claudetest.WritePlan("first that"), claudetest.ExitPlanMode(), claudetest.Mark("late"), claudetest.Say("done")), ", plan: required")
		w.works("plan", "plan it")
		if r := w.Result(0); !r.IsError {
			t.Errorf("while it plans the model reads %+v", r)
		}
		w.OK("answer", w.pending("Which one"), "2", "--team", "crew")
		if r := w.Result(1); r.IsError || !strings.Contains(r.Text, "Right") {
			t.Errorf("of the answer the model reads %+v", r)
		}
		if r := w.Result(2); r.IsError {
			t.Errorf("the plan file: %+v", r)
		}
		w.pending("first this")
		w.OK("plan", "reject", "bob", "--team", "crew", "-m", "more of it")
		if r := w.Result(3); !r.IsError || !strings.Contains(r.Text, "more of it") {
			t.Errorf("of the denied plan the model reads %+v", r)
		}
		w.pending("first that")
		w.OK("plan", "approve", "bob", "--rev", "2", "--team", "crew")
		w.OK("approve", w.pending(">>late"), "--team", "crew")
		w.completed()
		w.Ran("early", 0)
		w.Ran("late", 1)
	})
}

// The pane's key that closes a plan's dialog does not approve the plan: its request stays, and the
// client gets the verdict.
func TestPaneKeyIsNoPlanVerdict(t *testing.T) {
	eachInPane(t, func(t *testing.T, version string) {
		w := newPane(t, version, claudetest.Script(claudetest.Mark("early"), claudetest.WritePlan("first this"), claudetest.ExitPlanMode(), claudetest.Mark("early"), claudetest.Say("I wait"),
			claudetest.Mark("late"), claudetest.Say("done")), ", plan: required")
		w.works("plan", "plan it")
		w.pending("first this")
		// The other yes of the dialog switches to a mode in which the client asks less, and its calls
		// are refused.
		manual := regexp.MustCompile(`(\d)\. Yes, (and )?manually`).FindStringSubmatch(w.pane().WaitScreen(`\d\. Yes, (and )?manually`))
		w.pane().Choose(`Ready to code`, manual[1])
		if r := w.Result(3); !r.IsError {
			t.Errorf("before the verdict the model reads %+v", r)
		}
		w.OK("plan", "approve", "bob", "--rev", "1", "--team", "crew")
		w.M.Await("the verdict", func(r claudetest.Request) bool { return strings.Contains(r.Said(), "Your plan is approved") })
		w.OK("approve", w.pending(">>late"), "--team", "crew")
		w.completed()
		w.Ran("early", 0)
		w.Ran("late", 1)
	})
}

// A question that is answered in its own dialog is closed, and the answer is the person's.
func TestPaneQuestionAnsweredThere(t *testing.T) {
	eachInPane(t, func(t *testing.T, version string) {
		q := claudetest.Question{Question: "Which one?", Header: "W", Options: []string{"Left", "Right"}}
		w := newPane(t, version, claudetest.Script(claudetest.AskUserQuestion(q), claudetest.Say("done")), "")
		w.works("ask", "ask me")
		w.pending("Which one")
		w.pane().Choose(`(?m)^ *Which one\?$`, "2")
		if r := w.Result(0); r.IsError || !strings.Contains(r.Text, "Right") {
			t.Errorf("the model reads %+v", r)
		}
		w.closed("answered in the pane")
		w.completed()
	})
}

// A hook that is killed leaves its dialog: nothing runs, the request is closed, the member waits for
// its person, and the pane's key decides.
func TestPaneHookKilled(t *testing.T) {
	eachInPane(t, func(t *testing.T, version string) {
		w := newPane(t, version, claudetest.Script(claudetest.Mark("one"), claudetest.Say("done")), "")
		w.works("mark", "mark it")
		w.pending(">>one")
		w.pane().WaitScreen("Do you want to proceed")
		killed := 0
		for _, pid := range w.H.Processes() {
			if line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline")); err == nil && strings.Contains(string(line), "hook\x00claude\x00PermissionRequest") {
				w.signal(pid, syscall.SIGKILL)
				killed++
			}
		}
		if killed == 0 {
			t.Skip("the hook's process is not found here")
		}
		w.closed("its hook has ended")
		w.until("the member waits for a person", func() bool {
			out := w.OK("status", "crew", "--json")
			return strings.Contains(out, `"waiting-human"`) && strings.Contains(out, "its pane waits for a person")
		})
		w.Ran("one", 0)
		w.pane().Choose(`Do you want to proceed`, "1")
		w.completed()
		w.Ran("one", 1)
	})
}

// A hook that cannot be started blocks the call before the client asks, whatever the user allows.
func TestPaneHookDead(t *testing.T) {
	eachInPane(t, func(t *testing.T, version string) {
		w := newPane(t, version, claudetest.Script(claudetest.Mark("one"), claudetest.Say("done")), "")
		w.start()
		w.until("the client has begun", func() bool {
			return strings.Contains(w.OK("log", "bob", "--team", "crew", "--json"), `"conversation"`)
		})
		path := w.Bin
		data, err := os.ReadFile(path)
		testenv.Must(t, err)
		aside := filepath.Join(w.H.Root, "aside", "waggle")
		testenv.Must(t, os.MkdirAll(filepath.Dir(aside), 0o755))
		w.H.WriteFile(aside, string(data), 0o755)
		w.Bin = aside
		testenv.Must(t, os.Remove(path))
		w.give("mark", "mark it")
		if r := w.Result(0); !r.IsError {
			t.Errorf("the model reads %+v", r)
		}
		w.Ran("one", 0)
		w.gone()
	})
}

// A message reaches an idle client at once, and one for a busy client is a turn of its own afterwards.
func TestPaneMail(t *testing.T) {
	eachInPane(t, func(t *testing.T, version string) {
		w := newPane(t, version, claudetest.Script(claudetest.Say("heard"), claudetest.Mark("one"), claudetest.Say("done"), claudetest.Say("heard again")), "")
		w.start()
		w.OK("send", "bob", "the first blue one", "--team", "crew")
		w.M.Await("words for the idle one", func(r claudetest.Request) bool { return strings.Contains(r.Said(), "the first blue one") })
		w.give("mark", "mark it")
		id := w.pending(">>one")
		w.OK("send", "bob", "and then the red one", "--team", "crew")
		w.OK("approve", id, "--team", "crew")
		r := w.M.Await("the words", func(r claudetest.Request) bool { return strings.Contains(r.Said(), "the red one") })
		if len(r.Results()) != 0 {
			t.Errorf("the words came into the turn: %s", r)
		}
		w.Ran("one", 1)
		w.gone()
	})
}

// A prompt that a person types into the pane is a turn of the member: its calls need a permission like
// any other's.
func TestPaneTyped(t *testing.T) {
	eachInPane(t, func(t *testing.T, version string) {
		w := newPane(t, version, claudetest.Script(claudetest.Mark("one"), claudetest.Say("done")), "")
		w.start()
		w.pane().WaitScreen(`(?m)^❯`)
		w.pane().Type("please mark one")
		w.pane().WaitScreen(`please mark one`)
		w.pane().Keys("Enter")
		w.OK("approve", w.pending(">>one"), "--team", "crew")
		w.Result(0)
		w.until("the member is idle again", func() bool { return strings.Contains(w.OK("status", "crew", "--json"), `"idle"`) })
		w.Ran("one", 1)
		w.gone()
	})
}

// A member in a pane goes on in its session too.
func TestPaneKilledWhileAsked(t *testing.T) {
	eachInPane(t, func(t *testing.T, version string) { killedWhileAsked(t, version, newPane) })
}

// The directory is not trusted: the member waits for its person, status shows the text of the screen,
// and nothing is typed. When the dialog is answered in the pane, the member goes on.
func TestPaneTrustDialog(t *testing.T) {
	eachInPane(t, func(t *testing.T, version string) {
		w := newPane(t, version, claudetest.Script(claudetest.Say("done")), "")
		w.H.Known(func(file map[string]any) { file["projects"] = map[string]any{} })
		w.works("say", "say it")
		w.until("the member waits for a person", func() bool {
			out := w.OK("status", "crew", "--json")
			return strings.Contains(out, `"waiting-human"`) && strings.Contains(out, "trust")
		})
		if n := len(w.M.Requests()); n > 0 {
			t.Errorf("%d requests of the client before it is trusted", n)
		}
		w.pane().WaitScreen("trust this folder")
		w.pane().Keys("Down")
		w.pane().WaitScreen(`❯ (\d+\. )?Yes, I trust`)
		w.pane().Keys("Enter")
		w.completed()
		if out := w.OK("status", "crew", "--json"); strings.Contains(out, "its pane waits for a person") {
			t.Errorf("it waits still: %s", out)
		}
	})
}

// A client that takes no messages of other sessions cannot be a member in a pane.
func TestPaneUnsupported(t *testing.T) {
	w := newPane(t, claudetest.Explicit, claudetest.Script(claudetest.Say("done")), "")
	s := w.Run("up", "team.yaml", "--detach")
	if s.Code == 0 || !strings.Contains(s.Err, "2.1.224") || !strings.Contains(s.Err, "backend: process") {
		t.Errorf("up: exit %d: %s%s", s.Code, s.Out, s.Err)
	}
}

// Where a hook of the user could answer a dialog before the team, no client is started in a pane.
func TestPaneAnswered(t *testing.T) {
	w := newPane(t, claudetest.Newest, claudetest.Script(claudetest.Say("done")), "")
	house, _ := allowing(w.H)
	w.H.WriteJSON(filepath.Join(w.H.Work, ".claude", "settings.json"), house)
	s := w.Run("up", "team.yaml", "--detach")
	if s.Code == 0 || !strings.Contains(s.Err, "PermissionRequest hook in "+filepath.Join(w.H.Work, ".claude", "settings.json")) || !strings.Contains(s.Err, "backend: process") {
		t.Errorf("up: exit %d: %s%s", s.Code, s.Out, s.Err)
	}
}

// An interrupting message ends the client's turn: the dialog is closed, its call does not run, and the
// session goes on with the message.
func TestPaneInterrupted(t *testing.T) {
	eachInPane(t, func(t *testing.T, version string) {
		w := newPane(t, version, claudetest.Script(claudetest.Mark("one"), claudetest.Say("I do the other")), "")
		w.works("mark", "mark it")
		w.pending(">>one")
		w.pane().WaitScreen("Do you want to proceed")
		w.OK("send", "bob", "leave it, do the other", "--priority", "interrupt", "--team", "crew")
		r := w.M.Await("the words", func(r claudetest.Request) bool { return strings.Contains(r.Said(), "do the other") })
		if !strings.Contains(r.String(), "mark it") {
			t.Errorf("the session is another: %s", r)
		}
		w.Ran("one", 0)
	})
}
