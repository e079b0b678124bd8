//go:build unix

package claudetest_test

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waggle/internal/test/claudetest"
	"waggle/internal/test/testenv"
)

// asked is the input of a PermissionRequest hook.
type asked struct {
	Event   string         `json:"hook_event_name"`
	Session string         `json:"session_id"`
	Tool    string         `json:"tool_name"`
	Input   map[string]any `json:"tool_input"`
}

func given(t *testing.T, gate *claudetest.Gate, call int, tool string) asked {
	t.Helper()
	var a asked
	text := gate.Given(call)
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		t.Fatalf("call %d: %v: %s", call, err, text)
	}
	if a.Event != "PermissionRequest" || a.Tool != tool || a.Session == "" {
		t.Fatalf("call %d is not about %s: %s", call, tool, text)
	}
	return a
}

// decide answers a hook with a decision.
func decide(t *testing.T, gate *claudetest.Gate, call int, decision map[string]any) {
	t.Helper()
	data, err := json.Marshal(map[string]any{"hookSpecificOutput": map[string]any{
		"hookEventName": "PermissionRequest", "decision": decision,
	}})
	testenv.Must(t, err)
	gate.Answer(call, string(data), 0)
}

// result waits for the result of the n-th tool call, from 0.
func result(m *claudetest.Model, turn int) claudetest.Block {
	return m.Await(fmt.Sprintf("the result of turn %d", turn), func(r claudetest.Request) bool {
		return r.Turns() == turn+1 && len(r.Results()) == 1
	}).Results()[0]
}

// An agent that the session's model starts runs in the session's process and has a script of its own.
// Its calls run the session's hook; a call that the hook leaves open has a dialog in the session's
// terminal.
func TestAgent(t *testing.T) {
	claudetest.Each(t, func(t *testing.T, version string) {
		m := claudetest.NewModel(t, claudetest.ByMarker(map[string]claudetest.Next{
			"marker-lead": claudetest.Script(claudetest.Spawn("bob", "you are marker-bob"), claudetest.Say("bob is at work")),
			"marker-bob":  claudetest.Script(claudetest.Bash("touch hook"), claudetest.Bash("touch key"), claudetest.Say("bob is done")),
		}))
		h := claudetest.NewHome(t, version, m)
		gate := h.NewGate("ask")
		h.Settings(claudetest.Hooks(600, map[string]string{"PermissionRequest": gate.Command}))
		s := h.StartIn(h.Work, []string{"CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS=1"},
			"--permission-mode", "default", "--teammate-mode", "in-process", "you are marker-lead")
		bobs := func(turn int) claudetest.Block {
			return m.Await(fmt.Sprintf("the result of bob's turn %d", turn), func(r claudetest.Request) bool {
				return strings.Contains(r.First(), "marker-bob") && r.Turns() == turn+1 && len(r.Results()) == 1
			}).Results()[0]
		}

		given(t, gate, 0, "Bash")
		decide(t, gate, 0, map[string]any{"behavior": "allow"})
		if r := bobs(0); r.IsError {
			t.Errorf("the hook allowed, and then: %s", r.Text)
		}
		exists(t, h, "hook", true)

		given(t, gate, 1, "Bash")
		gate.Answer(1, "", 0)
		s.Choose(`(?s)touch key.*Do you want to proceed\?`, "1")
		if r := bobs(1); r.IsError {
			t.Errorf("the key 1 allowed, and then: %s", r.Text)
		}
		exists(t, h, "key", true)
		// Only later versions make a team without being told to.
		if found, _ := filepath.Glob(filepath.Join(h.Config, "teams", "session-*", "config.json")); (len(found) == 1) != (version != claudetest.Explicit) {
			t.Errorf("the session's teams are %q", found)
		}
	})
}

// One session whose model calls one tool after the other. Its dialogs are answered
// with a key and by a hook.
func TestDialogs(t *testing.T) {
	claudetest.Each(t, func(t *testing.T, version string) {
		m := claudetest.NewModel(t, claudetest.Script(
			claudetest.Bash("touch key"),
			claudetest.Bash("touch hook"),
			claudetest.Bash("touch denied"),
			claudetest.AskUserQuestion(claudetest.Question{Question: "Which side?", Header: "Side", Options: []string{"Left", "Right"}}),
			claudetest.EnterPlanMode(),
			claudetest.WritePlan("# the plan\n\ndo it\n"),
			claudetest.ExitPlanMode(),
			claudetest.Say("all done"),
			claudetest.Say("read that"),
		))
		h := claudetest.NewHome(t, version, m)
		gate := h.NewGate("ask")
		h.Settings(claudetest.Hooks(600, map[string]string{"PermissionRequest": gate.Command}))
		s := h.Start("--permission-mode", "default", "please do it all")

		// A key decides although the hook still runs.
		s.WaitScreen(`(?s)touch key.*Do you want to proceed\?`)
		first := given(t, gate, 0, "Bash")
		r := s.Registered("waits for a permission", func(r claudetest.Registered) bool {
			return r.Status == "waiting" && r.WaitingFor == "permission prompt"
		})
		if r.SessionID != first.Session || r.Version != version || r.Cwd != h.Work {
			t.Errorf("registry: %+v, want session %s", r, first.Session)
		}
		s.Choose(`(?s)touch key.*Do you want to proceed\?`, "1")
		if r := result(m, 0); r.IsError {
			t.Errorf("the key 1 allowed, and then: %s", r.Text)
		}
		exists(t, h, "key", true)

		// The hook decides beside the dialog, which is on the screen meanwhile.
		s.WaitScreen(`(?s)touch hook.*Do you want to proceed\?`)
		given(t, gate, 1, "Bash")
		exists(t, h, "hook", false)
		decide(t, gate, 1, map[string]any{"behavior": "allow"})
		if r := result(m, 1); r.IsError {
			t.Errorf("the hook allowed, and then: %s", r.Text)
		}
		exists(t, h, "hook", true)

		given(t, gate, 2, "Bash")
		decide(t, gate, 2, map[string]any{"behavior": "deny", "message": "not on a Sunday"})
		if r := result(m, 2); !r.IsError || !strings.Contains(r.Text, "not on a Sunday") {
			t.Errorf("the hook denied, and then: error %t, %s", r.IsError, r.Text)
		}
		exists(t, h, "denied", false)

		// Tools that need the user want updatedInput.
		question := given(t, gate, 3, "AskUserQuestion")
		s.WaitScreen(`Which side\?`)
		question.Input["answers"] = map[string]string{"Which side?": "Right"}
		decide(t, gate, 3, map[string]any{"behavior": "allow", "updatedInput": question.Input})
		if r := result(m, 3); !strings.Contains(r.Text, `"Which side?"="Right"`) {
			t.Errorf("the answer came as %s", r.Text)
		}

		plan := given(t, gate, 4, "ExitPlanMode")
		if plan.Input["plan"] != "# the plan\n\ndo it\n" {
			t.Errorf("the plan is %q", plan.Input["plan"])
		}
		s.WaitScreen(`Ready to code\?`)
		decide(t, gate, 4, map[string]any{"behavior": "allow", "updatedInput": plan.Input})
		if r := result(m, 6); !strings.Contains(r.Text, "approved your plan") {
			t.Errorf("the plan came back as %s", r.Text)
		}
		s.WaitScreen("all done")

		message(t, h, s, m)
		s.Type("1") // a key too many
		s.WaitScreen(`(?m)^❯.1`)
		s.Ask("/exit")
		if status := s.WaitEnded(); status != 0 {
			t.Errorf("/exit ends with %d", status)
		}
		if _, ok := h.Registry(s.PID); ok {
			t.Error("the registry still has the session")
		}
	})
}

// message sends the idle session a message through its socket, which 2.1.150 lacks.
func message(t *testing.T, h *claudetest.Home, s *claudetest.Session, m *claudetest.Model) {
	t.Helper()
	r := s.Registered("idle", func(r claudetest.Registered) bool { return r.Status == "idle" })
	if h.Version == claudetest.Explicit {
		if r.Socket != "" || h.PeerToken(s.PID) != "" {
			t.Errorf("%s has a messaging socket by now: %+v", h.Version, r)
		}
		return
	}
	if want := filepath.Join(h.Temp, "cc-socks", fmt.Sprintf("%d.sock", s.PID)); r.Socket != want {
		t.Errorf("the socket is %s, want %s", r.Socket, want)
	}
	token := h.PeerToken(s.PID)
	if token == "" {
		t.Fatal("the session has no peer token")
	}
	conn, err := net.Dial("unix", r.Socket)
	testenv.Must(t, err)
	defer conn.Close()
	out := json.NewEncoder(conn)
	from := "uds:" + filepath.Join(h.Temp, "ours.sock")
	for _, frame := range []map[string]any{
		{"type": "auth", "token": token},
		{
			"msgV": 1, "msg_id": "6f1c1b0e-3a55-4a3a-9f77-0d8ad3d3f001", "type": "user", "priority": "next", "from": from,
			"message": map[string]any{"role": "user", "content": "<cross-session-message from=\"" + from +
				"\" from-name=\"gopher\" from-mode=\"prompting\">\nthe bees are back\n</cross-session-message>"},
		},
	} {
		testenv.Must(t, out.Encode(frame))
	}
	m.Await("the message", func(r claudetest.Request) bool { return strings.Contains(r.Said(), "the bees are back") })
	s.WaitScreen(`(?s)Message from @gopher.*read that`)
}

func exists(t *testing.T, h *claudetest.Home, name string, want bool) {
	t.Helper()
	_, err := os.Stat(filepath.Join(h.Work, name))
	if got := err == nil; got != want {
		t.Errorf("%s exists: %t, want %t (%v)", name, got, want, err)
	}
}

// A headless client asks its host; two of them in one home have scripts of their own.
func TestHeadless(t *testing.T) {
	claudetest.Each(t, func(t *testing.T, version string) {
		m := claudetest.NewModel(t, claudetest.ByMarker(map[string]claudetest.Next{
			"marker-a": claudetest.Script(claudetest.Bash("touch a"), claudetest.Say("a has it"), claudetest.Say("a again")),
			"marker-b": claudetest.Script(claudetest.Bash("touch b"), claudetest.Say("b has it")),
		}))
		h := claudetest.NewOwnHome(t, version, m)
		a, b := startHeadless(t, h, "--permission-mode", "default"), startHeadless(t, h, "--permission-mode", "default")
		a.User("this is marker-a")
		b.User("this is marker-b")
		permission := func(l line) bool { return l.Type == "control_request" }
		end := func(l line) bool { return l.Type == "result" }

		ask := a.Await("the question of a", permission)
		var can struct {
			Subtype string          `json:"subtype"`
			Input   json.RawMessage `json:"input"`
		}
		if err := json.Unmarshal(ask.Request, &can); err != nil || can.Subtype != "can_use_tool" || !strings.Contains(string(can.Input), "touch a") {
			t.Fatalf("a asks %s: %v", ask.Raw, err)
		}
		a.Respond(ask.RequestID, map[string]any{"behavior": "allow", "updatedInput": can.Input})
		b.Respond(b.Await("the question of b", permission).RequestID, map[string]any{"behavior": "deny", "message": "host says no"})
		if l := a.Await("the result of a", end); l.Result != "a has it" {
			t.Errorf("a ends with %s", l.Raw)
		}
		if l := b.Await("the result of b", end); l.Result != "b has it" {
			t.Errorf("b ends with %s", l.Raw)
		}
		exists(t, h, "a", true)
		exists(t, h, "b", false)
		a.User("and more")
		a.Await("the second result of a", func(l line) bool { return end(l) && l.Result == "a again" })
		if status := a.Close(); status != 0 {
			t.Errorf("a exits with %d", status)
		}
		b.Kill()

		sessions := map[string]bool{}
		for _, r := range m.Requests() {
			sessions[r.Session] = true
		}
		if len(sessions) != 2 || sessions[""] {
			t.Errorf("two clients asked as sessions %v", sessions)
		}
	})
}

// An answer that is held back keeps the session busy, and a crash leaves no process.
func TestHeldAndKilled(t *testing.T) {
	release := make(chan struct{})
	m := claudetest.NewModel(t, claudetest.Script(claudetest.Say("late").Held(release), claudetest.Bash("echo 1 >busy && tail -f busy")))
	versions := claudetest.Versions()
	h := claudetest.NewHome(t, versions[len(versions)-1], m)
	gate := h.NewGate("stop")
	h.Settings(claudetest.Hooks(600, map[string]string{"PermissionRequest": gate.Command}))
	s := h.Start("--permission-mode", "default")
	s.Ask("think hard")
	m.Await("the prompt", func(r claudetest.Request) bool { return strings.Contains(r.Said(), "think hard") })
	s.Registered("busy", func(r claudetest.Registered) bool { return r.Status == "busy" })
	close(release)
	s.WaitScreen("late")
	s.Ask("go on")
	gate.Given(0)
	gate.Answer(0, `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}`, 0)
	h.WaitFile(filepath.Join(h.Work, "busy"))
	s.Kill()
	if _, ended := s.Ended(); !ended {
		t.Error("the client runs on")
	}
	h.Kill()
	if left := h.Processes(); len(left) > 0 {
		t.Errorf("processes %d are left after Kill", left)
	}
}

// A version that is not installed skips the test.
func TestVersionMissing(t *testing.T) {
	t.Setenv("WAGGLE_CLAUDE_DIR", t.TempDir())
	t.Setenv("WAGGLE_REQUIRE", "")
	skipped := t.Run("skips", func(t *testing.T) {
		claudetest.Client(t, "0.0.1")
		t.Error("a client at version 0.0.1")
	})
	if !skipped {
		t.Error("a missing client fails the test although nothing requires it")
	}
}
