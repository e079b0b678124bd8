//go:build unix

package claudemembertest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"waggle/internal/claude"
	"waggle/internal/test/claudetest"
)

// completed waits until every task is done.
func (w *world) completed() {
	w.T.Helper()
	w.until("the tasks are completed", func() bool {
		out := w.OK("task", "list", "--team", "crew", "--json")
		return strings.Contains(out, `"completed"`) && !strings.Contains(out, `"in_progress"`) && !strings.Contains(out, `"status": "pending"`)
	})
}

// A member is started, gets a task, asks, runs the allowed call and not the denied one, reports, goes
// idle and is shut down. The user's own settings allow everything and switch hooks off.
func TestAskDenyReport(t *testing.T) {
	claudetest.Each(t, func(t *testing.T, version string) {
		w := askDenyReport(t, version, newWorld, func(*world) {})
		// Its output is words: what it says, its calls, and what came of them.
		if out := w.OK("peek", "bob", "--team", "crew"); !inOrder(out, "[Bash] echo ran >>one\n", "[Bash] echo ran >>two\n    failed: ", "not that one", "all done\n") || strings.Contains(out, "{") {
			t.Errorf("%s", out)
		}
		w.gone()
		w.Ran("one", 1)
	})
}

// askDenyReport plays it until the task is done; asked is called when the first call is asked about.
func askDenyReport(t *testing.T, version string, make maker, asked func(*world)) *world {
	w := make(t, version, claudetest.Script(claudetest.Mark("one"), claudetest.Mark("two"), claudetest.Say("all done")), "")
	w.works("mark", "mark it")
	id := w.pending(">>one")
	asked(w)
	w.Ran("one", 0)
	w.OK("approve", id, "--team", "crew")
	second := w.pending(">>two")
	w.Ran("one", 1)
	w.OK("deny", second, "--team", "crew", "-m", "not that one")
	if r := w.Result(1); !r.IsError || !strings.Contains(r.Text, "not that one") {
		t.Errorf("the model reads %+v", r)
	}
	w.completed()
	w.Ran("two", 0)
	return w
}

// inOrder reports whether a text has parts one after the other.
func inOrder(text string, parts ...string) bool {
	for _, p := range parts {
		_, after, ok := strings.Cut(text, p)
		if !ok {
			return false
		}
		text = after
	}
	return true
}

// Calls of one turn are requests of their own, answered in any order; each runs once, and the end of
// each is on record. Calls that change something the client asks for one after the other.
func TestTwoAsks(t *testing.T) {
	claudetest.Each(t, func(t *testing.T, version string) {
		w := newWorld(t, version, claudetest.Script(claudetest.Together(claudetest.Bash("ls /usr/include"), claudetest.Bash("ls /usr/share")),
			claudetest.Together(claudetest.Mark("one"), claudetest.Mark("two")), claudetest.Say("done")), "")
		w.works("mark", "mark it")
		first, second := w.pending("ls /usr/include"), w.pending("ls /usr/share")
		w.OK("approve", second, "--team", "crew")
		w.OK("approve", first, "--team", "crew")
		w.OK("approve", w.pending(">>one"), "--team", "crew")
		w.OK("approve", w.pending(">>two"), "--team", "crew")
		w.completed()
		w.Ran("one", 1)
		w.Ran("two", 1)
		log := w.OK("log", "bob", "--team", "crew", "--kind", "finished", "--json")
		if n := strings.Count(log, `"kind": "finished"`) + strings.Count(log, `"kind":"finished"`); n != 4 {
			t.Errorf("%d ends on record, want 4: %s", n, log)
		}
	})
}

// The model's questions reach the person, who answers with a number, with words, or not at all.
func TestQuestion(t *testing.T) {
	claudetest.Each(t, func(t *testing.T, version string) {
		q := claudetest.Question{Question: "Which one?", Header: "W", Options: []string{"Left", "Right"}}
		many := claudetest.Question{Question: "Which ones?", Header: "W", Options: []string{"Left", "Right"}, Multi: true}
		w := newWorld(t, version, claudetest.Script(claudetest.AskUserQuestion(q), claudetest.AskUserQuestion(many), claudetest.AskUserQuestion(q),
			claudetest.AskUserQuestion(q, many), claudetest.Say("done")), "")
		w.works("ask", "ask me")
		for turn, answer := range []struct{ words, want string }{{"2", "Right"}, {"1,2", "Left, Right"}, {"neither of them", "neither of them"}} {
			w.OK("answer", w.pending("Which one"), answer.words, "--team", "crew")
			if r := w.Result(turn); r.IsError || !strings.Contains(r.Text, answer.want) {
				t.Errorf("%q: the model reads %+v", answer.words, r)
			}
		}
		w.OK("answer", w.pending("Which one"), "1", "other words", "--team", "crew")
		if r := w.Result(3); r.IsError || !strings.Contains(r.Text, "Left") || !strings.Contains(r.Text, "other words") {
			t.Errorf("of two questions the model reads %+v", r)
		}
		w.completed()
	})
}

// A member must propose a plan: without a plan file there is no plan and no question, and the calls of
// the plan do not run before the plan is approved, whatever the user's settings allow.
func TestPlan(t *testing.T) {
	claudetest.Each(t, func(t *testing.T, version string) {
		w := newWorld(t, version, claudetest.Script(claudetest.ExitPlanMode(), claudetest.Mark("early"), claudetest.WritePlan("first this"), claudetest.ExitPlanMode(),
			claudetest.Mark("late"), claudetest.Say("done")), ", plan: required")
		w.works("plan", "plan it")
		if r := w.Result(0); !r.IsError || !strings.Contains(r.Text, "There is no plan yet") {
			t.Errorf("without a plan the model reads %+v", r)
		}
		if r := w.Result(1); !r.IsError {
			t.Errorf("while it plans the model reads %+v", r)
		}
		if r := w.Result(2); r.IsError {
			t.Errorf("the plan file: %+v", r)
		}
		w.pending("first this")
		w.OK("plan", "approve", "bob", "--rev", "1", "--team", "crew")
		w.OK("approve", w.pending(">>late"), "--team", "crew")
		w.completed()
		w.Ran("early", 0)
		w.Ran("late", 1)
	})
}

// A message that arrives in a turn waits for its end, and is a turn of its own in the same session.
func TestMailInTurn(t *testing.T) {
	claudetest.Each(t, func(t *testing.T, version string) {
		w := newWorld(t, version, claudetest.Script(claudetest.Mark("one"), claudetest.Say("done"), claudetest.Say("heard")), "")
		w.works("mark", "mark it")
		id := w.pending(">>one")
		w.OK("send", "bob", "and then the blue one", "--team", "crew")
		w.OK("approve", id, "--team", "crew")
		r := w.M.Await("the words", func(r claudetest.Request) bool { return strings.Contains(r.Said(), "the blue one") })
		if r.Turns() != 2 || len(r.Results()) != 0 {
			t.Errorf("the words came into the turn: %s", r)
		}
		w.Ran("one", 1)
	})
}

// The worker is killed while its client waits for an answer: the call does not run, and the member
// that is started again goes on in its session, where the call runs once when it is allowed.
func TestKilledWhileAsked(t *testing.T) {
	claudetest.Each(t, func(t *testing.T, version string) { killedWhileAsked(t, version, newWorld) })
}

func killedWhileAsked(t *testing.T, version string, make maker) {
	w := make(t, version, func(r claudetest.Request) claudetest.Turn {
		switch {
		case len(r.Results()) > 0 && !r.Results()[0].IsError:
			return claudetest.Say("done")
		case strings.Contains(r.Said(), "started again"), r.Turns() == 0:
			return claudetest.Mark("one")
		}
		return claudetest.Say("done")
	}, "")
	w.works("mark", "mark it")
	w.pending(">>one")
	w.signal(w.worker(), syscall.SIGKILL)
	again := w.M.Await("the resumed turn", func(r claudetest.Request) bool { return strings.Contains(r.Said(), "started again") })
	if !strings.Contains(again.String(), "mark it") || again.Turns() < 1 {
		t.Errorf("the session is not the one before: %s", again)
	}
	w.Ran("one", 0)
	w.OK("approve", w.pending(">>one"), "--team", "crew")
	w.completed()
	w.Ran("one", 1)
}

// A member that was stopped is a member again with resume NAME: a new instance and process in the same
// conversation, which is asked about its calls as before.
func TestReturned(t *testing.T) {
	claudetest.Each(t, func(t *testing.T, version string) { returned(t, version, newWorld) })
}

func TestPaneReturned(t *testing.T) {
	eachInPane(t, func(t *testing.T, version string) { returned(t, version, newPane) })
}

func returned(t *testing.T, version string, make maker) {
	w := make(t, version, func(r claudetest.Request) claudetest.Turn {
		switch {
		case len(r.Results()) > 0:
			return claudetest.Say("done")
		case strings.Contains(r.Said(), "the green one"):
			return claudetest.Mark("two")
		}
		return claudetest.Mark("one")
	}, "")
	w.works("mark", "the blue one")
	w.OK("approve", w.pending(">>one"), "--team", "crew")
	w.completed()
	w.OK("stop", "bob", "--team", "crew")
	if s := w.Run("send", "bob", "are you there?", "--team", "crew"); !strings.Contains(s.Out+s.Err, "waggle resume bob") {
		t.Errorf("send to a member that has left does not say how it comes back: %+v", s)
	}
	w.OK("resume", "bob", "--team", "crew")
	w.give("again", "the green one")
	id := w.pending(">>two")
	again := w.M.Await("the second task", func(r claudetest.Request) bool { return strings.Contains(r.Said(), "the green one") })
	if !strings.Contains(again.String(), "the blue one") {
		t.Errorf("the session is not the one before: %s", again)
	}
	w.Ran("two", 0)
	w.OK("approve", id, "--team", "crew")
	w.completed()
	w.Ran("one", 1)
	w.Ran("two", 1)
}

// allowing is settings whose hooks allow every request and change the command of every call; they note
// that they ran.
func allowing(h *claudetest.Home) (settings map[string]any, ran string) {
	ran = filepath.Join(h.Temp, "hooked")
	hook := func(name, words string) []any {
		program := h.Script(name, "cat >/dev/null; echo ran >>"+ran+"; echo '"+words+"'\n")
		return []any{map[string]any{"hooks": []any{map[string]any{"type": "command", "command": program}}}}
	}
	settings = openHouse()
	settings["disableAllHooks"] = false
	settings["hooks"] = map[string]any{
		"PermissionRequest": hook("allowing", `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}`),
		"PreToolUse":        hook("changing", `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"command":"echo ran >>changed"}}}`),
	}
	return settings, ran
}

// Hooks of the user and of the project that allow every request and change every call do not run, and are
// named: what the team denies stays denied, and what it allows runs as it was shown.
func TestUsersHooks(t *testing.T) {
	claudetest.Each(t, func(t *testing.T, version string) {
		w := newWorld(t, version, claudetest.Script(claudetest.Mark("one"), claudetest.Mark("two"), claudetest.Say("done")), "")
		house, hooked := allowing(w.H)
		w.settings(house)
		w.works("mark", "mark it")
		id := w.pending(">>one")
		w.Ran("one", 0)
		w.OK("deny", id, "--team", "crew", "-m", "not that one")
		w.OK("approve", w.pending(">>two"), "--team", "crew")
		w.completed()
		w.Ran("one", 0)
		w.Ran("two", 1)
		w.Ran("changed", 0)
		if _, err := os.Stat(hooked); err == nil {
			t.Error("a hook of the user or the project ran")
		}
		said := w.OK("peek", "bob", "--team", "crew", "-n", "100")
		for _, path := range []string{filepath.Join(w.H.Config, "settings.json"), filepath.Join(w.H.Work, ".claude", "settings.json")} {
			if !strings.Contains(said, "the hooks of "+path+" do not run in this session") {
				t.Errorf("the hooks of %s are not named: %s", path, said)
			}
		}
	})
}

// A deny rule also holds for a tool that only reads.
func TestDenyRule(t *testing.T) {
	claudetest.Each(t, func(t *testing.T, version string) {
		secret := ""
		w := newWorld(t, version, func(r claudetest.Request) claudetest.Turn {
			return claudetest.Script(claudetest.Call("Read", map[string]any{"file_path": secret}), claudetest.Say("done"))(r)
		}, "}\npolicy: {deny: [Read, \"Bash(rm:*)\"]}\n#{")
		secret = filepath.Join(w.H.Work, "secret")
		w.H.WriteFile(secret, "the words of the secret", 0o644)
		w.works("read", "read it")
		if r := w.Result(0); !r.IsError || strings.Contains(r.Text, "the words") {
			t.Errorf("the model reads %+v", r)
		}
	})
}

// A member that is started from a session of another client has none of that session's variables. The
// list of stripped variables has those that a client sets for its own commands.
func TestVariables(t *testing.T) {
	claudetest.Each(t, func(t *testing.T, version string) {
		w := newWorld(t, version, claudetest.Script(claudetest.Bash("env > seen"), claudetest.Say("done")), "")
		for _, name := range []string{"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_MESSAGING_TOKEN",
			"CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", "CLAUDE_CODE_TEAM_NAME", "CLAUDE_PROJECT_DIR", "WAGGLE_SPAWN_TOKEN"} {
			w.env = append(w.env, name+"=PARENT")
		}
		w.works("look", "look")
		w.OK("approve", w.pending("env >"), "--team", "crew")
		w.completed()
		given := map[string]bool{}
		for _, kv := range w.H.Env() {
			name, _, _ := strings.Cut(kv, "=")
			given[name] = true
		}
		for _, kv := range strings.Split(w.H.WaitFile(filepath.Join(w.H.Work, "seen")), "\n") {
			name, value, _ := strings.Cut(kv, "=")
			if value == "PARENT" {
				t.Errorf("the client has %s of the session above", name)
			}
			own := strings.HasPrefix(name, "CLAUDE") && !given[name] && name != "CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR"
			if own && slices.Contains(claude.Environ([]string{name + "=x"}, ""), name+"=x") {
				t.Errorf("the client sets %s for its commands, and a member started from there would have it", name)
			}
		}
	})
}

// A request without an answer in time is reported to the model, and nothing runs.
func TestNobodyAnswers(t *testing.T) {
	claudetest.Each(t, func(t *testing.T, version string) {
		q := claudetest.Question{Question: "Which one?", Header: "W", Options: []string{"Left", "Right"}}
		w := newWorld(t, version, claudetest.Script(claudetest.AskUserQuestion(q), claudetest.Mark("one"), claudetest.Say("done")), "}\ndeadline: 2s\n#{")
		w.works("ask", "ask me")
		if r := w.Result(0); !r.IsError || !strings.Contains(r.Text, "nobody answered") || strings.Contains(r.Text, "have been answered") {
			t.Errorf("the model reads %+v", r)
		}
		if r := w.Result(1); !r.IsError {
			t.Errorf("the model reads %+v", r)
		}
		w.completed()
		w.Ran("one", 0)
	})
}

// What the model says is done is done when the check passes: until then it gets the output, in the same
// session.
func TestCheck(t *testing.T) {
	claudetest.Each(t, func(t *testing.T, version string) {
		w := newWorld(t, version, claudetest.Script(claudetest.Say("all done"), claudetest.Mark("made"), claudetest.Say("now it is")), ", check: \"cat made || { echo nothing was made; exit 1; }\"")
		w.works("make", "make it")
		w.OK("approve", w.pending(">>made"), "--team", "crew")
		w.completed()
		w.Ran("made", 1)
		w.M.Await("the output of the check in the same conversation", func(r claudetest.Request) bool {
			return strings.Contains(r.String(), "all done") && strings.Contains(r.String(), "nothing was made")
		})
		if out := w.OK("task", "list", "--team", "crew"); strings.Contains(out, "says it is done") {
			t.Errorf("a check has passed: %s", out)
		}
		w.give("say", "say it")
		w.until("the check decides that task too", func() bool {
			return strings.Count(w.OK("task", "list", "--team", "crew"), "completed") == 2
		})
	})
}

// What the settings of the user and the project deny is denied, about what they ask a person is asked although
// the team's rules allow it, and the rest the team's rules decide.
func TestOwnRules(t *testing.T) {
	claudetest.Each(t, func(t *testing.T, version string) {
		w := newWorld(t, version, claudetest.Script(claudetest.Mark("denied"), claudetest.Mark("asked"), claudetest.Mark("free"), claudetest.Say("done")), "}\npolicy: {allow: [\"Bash(echo ran >>asked)\", \"Bash(echo ran >>denied)\", \"Bash(echo ran >>free)\"]}\n#{")
		w.H.Settings(map[string]any{"permissions": map[string]any{"deny": []string{"Bash(echo ran >>denied)"}, "allow": []string{"Bash"}}})
		w.H.WriteJSON(filepath.Join(w.H.Work, ".claude", "settings.json"), map[string]any{"permissions": map[string]any{"ask": []string{"Bash(echo ran >>asked)"}}})
		w.works("mark", "mark it")
		id := w.pending(">>asked")
		if out := w.OK("show", id, "--team", "crew"); !strings.Contains(out, "client's own settings ask about it") {
			t.Errorf("show does not say why: %s", out)
		}
		w.Ran("denied", 0)
		w.Ran("asked", 0)
		w.OK("approve", id, "--team", "crew")
		w.completed()
		w.Ran("asked", 1)
		w.Ran("free", 1)
		w.Ran("denied", 0)
		w.unasked()
	})
}

// A file that words of mail name with "@" is not read into the conversation: what the team's rules deny to read,
// no words read.
func TestNamedFiles(t *testing.T) {
	claudetest.Each(t, func(t *testing.T, version string) { namedFiles(t, version, newWorld) })
}

// Nor in a pane, whoever sent the words.
func TestPaneNamedFiles(t *testing.T) {
	eachInPane(t, func(t *testing.T, version string) { namedFiles(t, version, newPane) })
}

func namedFiles(t *testing.T, version string, make maker) {
	w := make(t, version, claudetest.Script(claudetest.Say("heard")), "}\npolicy: {deny: [Read]}\n#{")
	w.H.WriteFile(filepath.Join(w.H.Work, "secret.txt"), "the words of the secret", 0o644)
	w.H.WriteFile(filepath.Join(w.H.Root, "outside"), "the words of the secret", 0o644)
	w.start()
	w.OK("send", "bob", "look at @secret.txt and @../outside and @"+w.H.Root+"/outside please", "--team", "crew")
	w.M.Await("the words", func(r claudetest.Request) bool { return strings.Contains(r.Said(), "secret.txt and ") })
	for _, r := range w.M.All() {
		if strings.Contains(string(r.Body), "the words of the secret") {
			t.Fatal("the model has read the file")
		}
	}
	w.gone()
}
