//go:build unix

package claudemembertest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"waggle/internal/test/claudetest"
	"waggle/internal/test/testenv"
)

// worker is the pid of bob's process.
func (w *world) worker() int {
	w.T.Helper()
	var status struct {
		Members []struct {
			PID int `json:"pid"`
		} `json:"members"`
	}
	if err := json.Unmarshal([]byte(w.OK("status", "crew", "--json")), &status); err != nil || len(status.Members) != 1 || status.Members[0].PID <= 1 {
		w.T.Fatalf("%v: %+v", err, status)
	}
	return status.Members[0].PID
}

// client is the pid of bob's client.
func (w *world) client() (pid int) {
	w.T.Helper()
	for _, p := range w.H.Processes() {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p))
		if strings.Contains(string(line), "--permission-prompt-tool") {
			pid = p
		}
	}
	if pid <= 1 {
		w.T.Fatalf("no client among %v", w.H.Processes())
	}
	return pid
}

func (w *world) signal(pid int, s syscall.Signal) {
	w.T.Helper()
	testenv.Must(w.T, syscall.Kill(pid, s))
}

// unasked checks that no request is pending.
func (w *world) unasked() {
	w.T.Helper()
	if out := w.OK("pending", "--team", "crew", "--json"); strings.Contains(out, `"handle"`) {
		w.T.Errorf("somebody is asked: %s", out)
	}
}

// The worker is stopped when the model calls: nothing runs while it is, and the call is asked about when
// it goes on.
func TestWorkerStopped(t *testing.T) {
	t.Parallel()
	claudetest.Each(t, func(t *testing.T, version string) {
		hold := make(chan struct{})
		w := newWorld(t, version, claudetest.Script(claudetest.Mark("one").Held(hold), claudetest.Say("done")), "")
		w.works("mark", "mark it")
		w.M.Await("the task", func(r claudetest.Request) bool { return strings.Contains(r.Said(), "mark it") })
		pid := w.worker()
		w.signal(pid, syscall.SIGSTOP)
		t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
		close(hold)
		w.until("the client has its model's call", func() bool { return strings.Contains(w.transcripts(), ">>one") })
		w.unasked()
		w.Ran("one", 0)
		w.signal(pid, syscall.SIGCONT)
		w.OK("deny", w.pending(">>one"), "--team", "crew")
		w.completed()
		w.Ran("one", 0)
	})
}

// transcripts is what the clients have written of their sessions.
func (w *world) transcripts() string {
	var all strings.Builder
	found, _ := filepath.Glob(filepath.Join(w.H.Config, "projects", "*", "*.jsonl"))
	for _, path := range found {
		data, _ := os.ReadFile(path) // it is being written
		all.Write(data)
	}
	return all.String()
}

// The worker is killed and not started again: its client ends, and a call that it asked for does not
// run, not even when it is allowed afterwards.
func TestWorkerDead(t *testing.T) {
	claudetest.Each(t, func(t *testing.T, version string) {
		w := newWorld(t, version, claudetest.Script(claudetest.Mark("one"), claudetest.Say("done")), ", restart: never")
		w.works("mark", "mark it")
		id := w.pending(">>one")
		client := w.client()
		w.signal(w.worker(), syscall.SIGKILL)
		w.until("its client has ended", func() bool { return syscall.Kill(client, 0) != nil })
		w.Run("approve", id, "--team", "crew")
		w.Ran("one", 0)
		w.gone()
		w.Ran("one", 0)
	})
}

// The client is killed while it asks: the turn has failed, the request has no effect any more, and
// the next turn has a client again, which goes on with the session.
func TestClientKilledWhileAsked(t *testing.T) {
	claudetest.Each(t, func(t *testing.T, version string) {
		w := newWorld(t, version, func(r claudetest.Request) claudetest.Turn {
			if strings.Contains(r.Said(), "mark it") {
				return claudetest.Mark("one")
			}
			return claudetest.Say("heard")
		}, "")
		w.works("mark", "mark it")
		id := w.pending(">>one")
		w.signal(w.client(), syscall.SIGKILL)
		w.until("the turn has failed", func() bool {
			return strings.Contains(w.OK("log", "--team", "crew", "--json"), "the client ended without a result")
		})
		w.Run("approve", id, "--team", "crew")
		w.Ran("one", 0)
		w.OK("send", "bob", "are you there", "--team", "crew")
		r := w.M.Await("the next turn", func(r claudetest.Request) bool { return strings.Contains(r.Said(), "are you there") })
		if !strings.Contains(r.String(), "mark it") {
			t.Errorf("it is another session: %s", r)
		}
		w.Ran("one", 0)
	})
}

// Two questions of one turn are two requests, and each gets its own answer.
func TestTwoQuestions(t *testing.T) {
	claudetest.Each(t, func(t *testing.T, version string) {
		ask := func(words string) claudetest.Turn {
			return claudetest.AskUserQuestion(claudetest.Question{Question: words, Header: "W", Options: []string{"Left", "Right"}})
		}
		w := newWorld(t, version, claudetest.Script(claudetest.Together(ask("First way?"), ask("Second way?")), claudetest.Say("done")), "")
		w.works("ask", "ask me")
		w.OK("answer", w.pending("First way"), "1", "--team", "crew")
		w.OK("answer", w.pending("Second way"), "2", "--team", "crew")
		r := w.M.Await("both answers", func(r claudetest.Request) bool { return len(r.Results()) == 2 })
		for _, b := range r.Results() { // the one that was asked first need not be the first result
			want := map[bool]string{true: `"First way?"="Left"`, false: `"Second way?"="Right"`}[strings.HasSuffix(b.ID, "_0")]
			if b.IsError || !strings.Contains(b.Text, want) {
				t.Errorf("the model reads %+v, not %s", b, want)
			}
		}
		if a, b := r.Results()[0].ID, r.Results()[1].ID; a == b {
			t.Errorf("both results are of %s", a)
		}
		w.completed()
	})
}

// The worker is killed while a question waits: the question stands, is answered once, and the model
// of the resumed session reads that answer and no other.
func TestKilledWhileQuestioned(t *testing.T) {
	claudetest.Each(t, func(t *testing.T, version string) {
		q := claudetest.AskUserQuestion(claudetest.Question{Question: "Which one?", Header: "W", Options: []string{"Left", "Right"}})
		w := newWorld(t, version, func(r claudetest.Request) claudetest.Turn {
			if r.Turns() == 0 || strings.Contains(r.Said(), "started again") {
				return q
			}
			return claudetest.Say("done")
		}, "")
		w.works("ask", "ask me")
		w.pending("Which one")
		w.signal(w.worker(), syscall.SIGKILL)
		w.M.Await("the resumed turn", func(r claudetest.Request) bool { return strings.Contains(r.Said(), "started again") })
		w.OK("answer", w.pending("Which one"), "2", "--team", "crew")
		r := w.M.Await("the answer", func(r claudetest.Request) bool {
			return len(r.Results()) > 0 && strings.Contains(r.Results()[len(r.Results())-1].Text, "Right")
		})
		for _, one := range append(w.M.Requests(), r) {
			for _, b := range one.Results() {
				if strings.Contains(b.Text, "Left") && !b.IsError || strings.Contains(b.Text, "answered: .") {
					t.Errorf("the model reads an answer that nobody gave: %+v", b)
				}
			}
		}
		w.completed()
	})
}

// A message of the lead with priority interrupt stops a turn that asks: the call does not run, and the
// message is the next turn of the same session and process.
func TestInterrupt(t *testing.T) {
	claudetest.Each(t, func(t *testing.T, version string) {
		w := newWorld(t, version, func(r claudetest.Request) claudetest.Turn {
			if strings.Contains(r.Said(), "the other thing") {
				return claudetest.Say("heard")
			}
			return claudetest.Script(claudetest.Mark("one"), claudetest.Say("done"))(r)
		}, "")
		w.works("mark", "mark it")
		id := w.pending(">>one")
		client := w.client()
		w.OK("send", "bob", "do the other thing", "--team", "crew", "--priority", "interrupt")
		r := w.M.Await("the words", func(r claudetest.Request) bool { return strings.Contains(r.Said(), "the other thing") })
		if !strings.Contains(r.String(), "mark it") {
			t.Errorf("it is another session: %s", r)
		}
		if w.client() != client {
			t.Error("it is another process: the client was not interrupted but ended")
		}
		w.Run("approve", id, "--team", "crew") // the task stays open, and a call of its next turn might be this one
		w.Ran("one", 0)
		w.gone()
		w.Ran("one", 0)
	})
}

// A mode that is set while a turn runs holds for its next call, in the client and at the gate.
func TestModeInTurn(t *testing.T) {
	claudetest.Each(t, func(t *testing.T, version string) {
		hold := make(chan struct{})
		w := newWorld(t, version, claudetest.Script(claudetest.Bash("touch first"), claudetest.Mark("one").Held(hold), claudetest.Say("done")), "")
		w.works("mark", "mark it")
		w.OK("approve", w.pending("touch first"), "--team", "crew")
		w.M.Await("the first result", func(r claudetest.Request) bool { return r.Turns() == 1 && len(r.Results()) == 1 })
		w.OK("mode", "bob", "plan", "--team", "crew")
		w.until("the mode holds", func() bool {
			return strings.Contains(w.OK("mode", "--team", "crew", "--json"), `"state": "applied"`)
		})
		close(hold)
		if r := w.Result(1); !r.IsError {
			t.Errorf("in plan mode the model reads %+v", r)
		}
		w.unasked()
		w.Ran("one", 0)
		w.completed()
		w.OK("mode", "bob", "default", "--team", "crew")
		w.gone()
		w.Ran("one", 0)
	})
}
