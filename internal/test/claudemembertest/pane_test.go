//go:build unix

package claudemembertest

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"waggle/internal/claude"
	"waggle/internal/test/claudetest"
	"waggle/internal/test/testenv"
)

// eachInPane runs a test for every version that can be a member in a pane, side by side.
func eachInPane(t *testing.T, test func(t *testing.T, version string)) {
	for _, version := range claudetest.Versions() {
		v, err := claude.ParseVersion(version)
		if err != nil {
			t.Fatal(err)
		}
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
		if w.t.Failed() {
			w.t.Log(w.run("peek", "bob", "--team", "crew", "-n", "50").out)
		}
	})
	return w
}

// tmux runs a command of the team's tmux server on bob's pane.
func (w *world) tmux(args ...string) string {
	w.t.Helper()
	socket := ""
	w.until("there is a tmux server", func() bool {
		_ = filepath.WalkDir(w.h.Root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type() == fs.ModeSocket && d.Name() == "tmux.sock" {
				socket = path
			}
			return nil
		})
		return socket != ""
	})
	out, err := w.h.Command("tmux", append([]string{"-S", socket}, args...)...).CombinedOutput()
	if err != nil {
		w.t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return string(out)
}

// screen waits until bob's pane shows what a pattern describes.
func (w *world) screen(pattern string) (shown string) {
	w.t.Helper()
	re := regexp.MustCompile(pattern)
	w.until("the pane shows "+pattern, func() bool {
		shown = w.tmux("capture-pane", "-p")
		return re.MatchString(shown)
	})
	return shown
}

var arrow = regexp.MustCompile(`❯ \d+\.`)

// choose presses a key in a dialog of bob's pane. A key that is pressed as a dialog appears can be
// lost: the arrow must move first.
func (w *world) choose(pattern, key string) {
	w.t.Helper()
	w.screen(pattern)
	at := arrow.FindString(w.screen(arrow.String()))
	move := func(key string, ok func(now string) bool) {
		w.until("the arrow moves", func() bool {
			w.tmux("send-keys", key)
			time.Sleep(300 * time.Millisecond) // real clock: another program draws
			return ok(arrow.FindString(w.tmux("capture-pane", "-p")))
		})
	}
	move("Down", func(now string) bool { return now != at })
	move("Up", func(now string) bool { return now == at })
	re := regexp.MustCompile(pattern)
	w.until("the dialog is gone", func() bool {
		w.tmux("send-keys", key)
		time.Sleep(time.Second) // real clock: another program draws
		return !re.MatchString(w.tmux("capture-pane", "-p"))
	})
}

// closed waits until a request of bob is closed, and returns the worker's record of it.
func (w *world) closed(words string) string {
	w.t.Helper()
	var found string
	w.until("a record with "+words, func() bool {
		for _, line := range strings.Split(w.ok("log", "bob", "--team", "crew", "--kind", "answered", "--json"), "\n") {
			if strings.Contains(line, words) {
				found = line
			}
		}
		return found != ""
	})
	return found
}

// A member in a pane gets a task, asks for calls that the user's settings allow, runs the call that
// was approved in the list and not the denied one, reports and is shut down.
func TestPaneAskDenyReport(t *testing.T) {
	eachInPane(t, func(t *testing.T, version string) {
		w := newPane(t, version, claudetest.Script(mark("one"), mark("two"), claudetest.Say("all done")), "")
		w.start()
		w.give("mark", "mark it")
		id := w.pending(">>one")
		w.screen("Do you want to proceed")
		w.ran("one", 0)
		w.ok("approve", id, "--team", "crew")
		second := w.pending(">>two")
		w.ran("one", 1)
		w.ok("deny", second, "--team", "crew", "-m", "not that one")
		if r := w.result(1); !r.IsError || !strings.Contains(r.Text, "not that one") {
			t.Errorf("the model reads %+v", r)
		}
		w.completed()
		w.ran("two", 0)
		w.gone()
		w.ran("one", 1)
	})
}

// A key that is pressed in the pane first decides: the request is closed as answered there, by the
// client's hooks and its registry, and a later answer has no effect.
func TestPaneKeyFirst(t *testing.T) {
	eachInPane(t, func(t *testing.T, version string) {
		w := newPane(t, version, claudetest.Script(mark("one"), claudetest.Say("done"), mark("two"), claudetest.Say("over")), "")
		w.start()
		w.give("mark", "mark it")
		id := w.pending(">>one")
		w.choose(`(?s)>>one.*Do you want to proceed`, "1")
		if line := w.closed("answered in the pane"); !strings.Contains(line, "allowed, and it ran") {
			t.Errorf("the record says %s", line)
		}
		if s := w.run("deny", id, "--team", "crew", "-m", "too late"); s.code == 0 {
			t.Errorf("a late denial is taken: %s", s.out)
		}
		w.completed()
		w.ran("one", 1)
		w.give("again", "mark the other")
		w.pending(">>two")
		w.choose(`(?s)>>two.*Do you want to proceed`, "2")
		w.closed("answered in the pane: denied")
		w.until("the turn that was interrupted in the pane has failed", func() bool {
			return strings.Contains(w.ok("log", "bob", "--team", "crew", "--json"), "interrupted in the pane")
		})
		w.ran("two", 0)
		w.gone()
	})
}

// The model's questions are answered in the list, and a plan is approved there.
func TestPaneQuestionAndPlan(t *testing.T) {
	eachInPane(t, func(t *testing.T, version string) {
		q := claudetest.Question{Question: "Which one?", Header: "W", Options: []string{"Left", "Right"}}
		w := newPane(t, version, claudetest.Script(mark("early"), claudetest.AskUserQuestion(q), claudetest.WritePlan("first this"), claudetest.ExitPlanMode(),
			claudetest.WritePlan("first that"), claudetest.ExitPlanMode(), mark("late"), claudetest.Say("done")), ", plan: required")
		w.start()
		w.give("plan", "plan it")
		if r := w.result(0); !r.IsError {
			t.Errorf("while it plans the model reads %+v", r)
		}
		w.ok("answer", w.pending("Which one"), "2", "--team", "crew")
		if r := w.result(1); r.IsError || !strings.Contains(r.Text, "Right") {
			t.Errorf("of the answer the model reads %+v", r)
		}
		if r := w.result(2); r.IsError {
			t.Errorf("the plan file: %+v", r)
		}
		w.pending("first this")
		w.ok("plan", "reject", "bob", "--team", "crew", "-m", "more of it")
		if r := w.result(3); !r.IsError || !strings.Contains(r.Text, "more of it") {
			t.Errorf("of the denied plan the model reads %+v", r)
		}
		w.pending("first that")
		w.ok("plan", "approve", "bob", "--rev", "2", "--team", "crew")
		w.ok("approve", w.pending(">>late"), "--team", "crew")
		w.completed()
		w.ran("early", 0)
		w.ran("late", 1)
		w.gone()
	})
}

// The pane's key that closes a plan's dialog does not approve the plan: its request stays, and the
// client gets the verdict.
func TestPaneKeyIsNoPlanVerdict(t *testing.T) {
	eachInPane(t, func(t *testing.T, version string) {
		w := newPane(t, version, claudetest.Script(mark("early"), claudetest.WritePlan("first this"), claudetest.ExitPlanMode(), mark("early"), claudetest.Say("I wait"),
			mark("late"), claudetest.Say("done")), ", plan: required")
		w.start()
		w.give("plan", "plan it")
		w.pending("first this")
		// The other yes of the dialog switches to a mode in which the client asks less, and its calls
		// are refused.
		manual := regexp.MustCompile(`(\d)\. Yes, (and )?manually`).FindStringSubmatch(w.screen(`\d\. Yes, (and )?manually`))
		w.choose(`Ready to code`, manual[1])
		if r := w.result(3); !r.IsError {
			t.Errorf("before the verdict the model reads %+v", r)
		}
		w.ok("plan", "approve", "bob", "--rev", "1", "--team", "crew")
		w.m.Await("the verdict", func(r claudetest.Request) bool { return strings.Contains(r.Said(), "Your plan is approved") })
		w.ok("approve", w.pending(">>late"), "--team", "crew")
		w.completed()
		w.ran("early", 0)
		w.ran("late", 1)
		w.gone()
	})
}

// A question that is answered in its own dialog is closed, and the answer is the person's.
func TestPaneQuestionAnsweredThere(t *testing.T) {
	eachInPane(t, func(t *testing.T, version string) {
		q := claudetest.Question{Question: "Which one?", Header: "W", Options: []string{"Left", "Right"}}
		w := newPane(t, version, claudetest.Script(claudetest.AskUserQuestion(q), claudetest.Say("done")), "")
		w.start()
		w.give("ask", "ask me")
		w.pending("Which one")
		w.choose(`Enter to select`, "2")
		if r := w.result(0); r.IsError || !strings.Contains(r.Text, "Right") {
			t.Errorf("the model reads %+v", r)
		}
		w.closed("answered in the pane")
		w.completed()
		w.gone()
	})
}

// A hook that is killed leaves its dialog: nothing runs, the request is closed, the member waits for
// its person, and the pane's key decides.
func TestPaneHookKilled(t *testing.T) {
	eachInPane(t, func(t *testing.T, version string) {
		w := newPane(t, version, claudetest.Script(mark("one"), claudetest.Say("done")), "")
		w.start()
		w.give("mark", "mark it")
		w.pending(">>one")
		w.screen("Do you want to proceed")
		killed := 0
		for _, pid := range w.h.Processes() {
			if line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline")); err == nil && strings.Contains(string(line), "hook\x00claude\x00PermissionRequest") {
				if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
				killed++
			}
		}
		if killed == 0 {
			t.Skip("the hook's process is not found here")
		}
		w.closed("its hook has ended")
		w.until("the member waits for a person", func() bool {
			out := w.ok("status", "crew", "--json")
			return strings.Contains(out, `"waiting-human"`) && strings.Contains(out, "its pane waits for a person")
		})
		w.ran("one", 0)
		w.choose(`Do you want to proceed`, "1")
		w.completed()
		w.ran("one", 1)
		w.gone()
	})
}

// A hook that cannot be started blocks the call before the client asks, whatever the user allows.
func TestPaneHookDead(t *testing.T) {
	eachInPane(t, func(t *testing.T, version string) {
		w := newPane(t, version, claudetest.Script(mark("one"), claudetest.Say("done")), "")
		w.start()
		w.until("the client has begun", func() bool {
			return strings.Contains(w.ok("log", "bob", "--team", "crew", "--json"), `"conversation"`)
		})
		path := w.bin
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		aside := filepath.Join(w.h.Root, "aside", "waggle")
		if err := os.MkdirAll(filepath.Dir(aside), 0o755); err != nil {
			t.Fatal(err)
		}
		w.h.WriteFile(aside, string(data), 0o755)
		w.bin = aside
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		w.give("mark", "mark it")
		if r := w.result(0); !r.IsError {
			t.Errorf("the model reads %+v", r)
		}
		w.ran("one", 0)
		w.gone()
	})
}

// A message reaches an idle client at once, and one for a busy client is a turn of its own afterwards.
func TestPaneMail(t *testing.T) {
	eachInPane(t, func(t *testing.T, version string) {
		w := newPane(t, version, claudetest.Script(claudetest.Say("heard"), mark("one"), claudetest.Say("done"), claudetest.Say("heard again")), "")
		w.start()
		w.ok("send", "bob", "the first blue one", "--team", "crew")
		w.m.Await("words for the idle one", func(r claudetest.Request) bool { return strings.Contains(r.Said(), "the first blue one") })
		w.give("mark", "mark it")
		id := w.pending(">>one")
		w.ok("send", "bob", "and then the red one", "--team", "crew")
		w.ok("approve", id, "--team", "crew")
		r := w.m.Await("the words", func(r claudetest.Request) bool { return strings.Contains(r.Said(), "the red one") })
		if len(r.Results()) != 0 {
			t.Errorf("the words came into the turn: %s", r)
		}
		w.ran("one", 1)
		w.gone()
	})
}

// A prompt that a person types into the pane is a turn of the member: its calls need a permission like
// any other's.
func TestPaneTyped(t *testing.T) {
	eachInPane(t, func(t *testing.T, version string) {
		w := newPane(t, version, claudetest.Script(mark("one"), claudetest.Say("done")), "")
		w.start()
		w.screen(`(?m)^❯`)
		w.tmux("send-keys", "-l", "--", "please mark one")
		w.screen(`please mark one`)
		w.tmux("send-keys", "Enter")
		w.ok("approve", w.pending(">>one"), "--team", "crew")
		w.result(0)
		w.until("the member is idle again", func() bool { return strings.Contains(w.ok("status", "crew", "--json"), `"idle"`) })
		w.ran("one", 1)
		w.gone()
	})
}

// pidOf is the process of bob's worker.
func (w *world) pidOf() int {
	w.t.Helper()
	var status struct {
		Members []struct {
			PID int `json:"pid"`
		} `json:"members"`
	}
	if err := json.Unmarshal([]byte(w.ok("status", "crew", "--json")), &status); err != nil || len(status.Members) != 1 || status.Members[0].PID <= 1 {
		w.t.Fatalf("%v: %+v", err, status)
	}
	return status.Members[0].PID
}

// The worker is killed while its client asks: the call does not run, and the member goes on in its
// session, where the call runs once when it is allowed.
func TestPaneKilledWhileAsked(t *testing.T) {
	eachInPane(t, func(t *testing.T, version string) {
		w := newPane(t, version, func(r claudetest.Request) claudetest.Turn {
			switch {
			case len(r.Results()) > 0 && !r.Results()[0].IsError:
				return claudetest.Say("done")
			case strings.Contains(r.Said(), "started again"), r.Turns() == 0:
				return mark("one")
			}
			return claudetest.Say("done")
		}, "")
		w.start()
		w.give("mark", "mark it")
		w.pending(">>one")
		if err := syscall.Kill(w.pidOf(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		again := w.m.Await("the resumed turn", func(r claudetest.Request) bool { return strings.Contains(r.Said(), "started again") })
		if !strings.Contains(again.String(), "mark it") || again.Turns() < 1 {
			t.Errorf("the session is not the one before: %s", again)
		}
		w.ran("one", 0)
		w.ok("approve", w.pending(">>one"), "--team", "crew")
		w.completed()
		w.ran("one", 1)
		w.gone()
	})
}

// The directory is not trusted: the member waits for its person, status shows the text of the screen,
// and nothing is typed. When the dialog is answered in the pane, the member goes on.
func TestPaneTrustDialog(t *testing.T) {
	eachInPane(t, func(t *testing.T, version string) {
		w := newPane(t, version, claudetest.Script(claudetest.Say("done")), "")
		file := filepath.Join(w.h.Config, ".claude.json")
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var known map[string]any
		if err := json.Unmarshal(data, &known); err != nil {
			t.Fatal(err)
		}
		known["projects"] = map[string]any{}
		w.h.WriteJSON(file, known)
		w.start()
		w.give("say", "say it")
		w.until("the member waits for a person", func() bool {
			out := w.ok("status", "crew", "--json")
			return strings.Contains(out, `"waiting-human"`) && strings.Contains(out, "trust")
		})
		if n := len(w.m.Requests()); n > 0 {
			t.Errorf("%d requests of the client before it is trusted", n)
		}
		w.screen("trust this folder")
		w.tmux("send-keys", "Down")
		w.screen(`❯ (\d+\. )?Yes, I trust`)
		w.tmux("send-keys", "Enter")
		w.completed()
		if out := w.ok("status", "crew", "--json"); strings.Contains(out, "its pane waits for a person") {
			t.Errorf("it waits still: %s", out)
		}
		w.gone()
	})
}

// A client that takes no messages of other sessions cannot be a member in a pane.
func TestPaneUnsupported(t *testing.T) {
	w := newPane(t, claudetest.Explicit, claudetest.Script(claudetest.Say("done")), "")
	s := w.run("up", "team.yaml", "--detach")
	if s.code == 0 || !strings.Contains(s.err, "2.1.224") || !strings.Contains(s.err, "backend: process") {
		t.Errorf("up: exit %d: %s%s", s.code, s.out, s.err)
	}
}

// Where a hook of the user could answer a dialog before the team, no client is started in a pane.
func TestPaneAnswered(t *testing.T) {
	w := newPane(t, claudetest.Newest, claudetest.Script(claudetest.Say("done")), "")
	house, _ := allowing(w.h)
	w.h.WriteJSON(filepath.Join(w.h.Work, ".claude", "settings.json"), house)
	s := w.run("up", "team.yaml", "--detach")
	if s.code == 0 || !strings.Contains(s.err, "PermissionRequest hook in "+filepath.Join(w.h.Work, ".claude", "settings.json")) || !strings.Contains(s.err, "backend: process") {
		t.Errorf("up: exit %d: %s%s", s.code, s.out, s.err)
	}
}

// An interrupting message ends the client's turn: the dialog is closed, its call does not run, and the
// session goes on with the message.
func TestPaneInterrupted(t *testing.T) {
	eachInPane(t, func(t *testing.T, version string) {
		w := newPane(t, version, claudetest.Script(mark("one"), claudetest.Say("I do the other")), "")
		w.start()
		w.give("mark", "mark it")
		w.pending(">>one")
		w.screen("Do you want to proceed")
		w.ok("send", "bob", "leave it, do the other", "--priority", "interrupt", "--team", "crew")
		r := w.m.Await("the words", func(r claudetest.Request) bool { return strings.Contains(r.Said(), "do the other") })
		if !strings.Contains(r.String(), "mark it") {
			t.Errorf("the session is another: %s", r)
		}
		w.ran("one", 0)
		w.gone()
	})
}
