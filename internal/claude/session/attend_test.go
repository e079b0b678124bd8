package session_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waggle/internal/claude/session"
	"waggle/internal/test/testenv"
	"waggle/policy"
	"waggle/spawn"
)

// row is the last row of the world's sessions, without a registry.
func (w *world) row(t *testing.T) session.Row {
	t.Helper()
	rows := w.store.List("", w.live()).Rows
	if len(rows) == 0 {
		t.Fatal("there is no row")
	}
	return rows[len(rows)-1]
}

// TestNobodyAttends: a hook that holds back its client's own dialog returns at once where nobody attends. The
// request takes no answer, and its session is a row that waits in its own terminal, until an event says that the
// dialog is over.
func TestNobodyAttends(t *testing.T) {
	t.Parallel()
	mate := `,"agent_id":"a1","agent_type":"bob"`
	for name, c := range map[string]struct {
		client             session.Client
		who                string
		event, extra, over string
	}{
		"ran":          {session.Codex, "", "PostToolUse", bash("ls"), "it was allowed in the session's own dialog, and ran"},
		"turn over":    {session.Codex, "", "Stop", "", "its turn ended"},
		"interrupted":  {session.Codex, "", "Interrupt", "", "its turn ended"},
		"next words":   {session.Codex, "", "UserPromptSubmit", "", "its person has typed the next words"},
		"session ends": {session.Codex, "", "SessionEnd", "", "the session ended"},
		"mate ran":     {session.Claude, mate, "PostToolUse", mate + bash("ls"), "it was allowed in the session's own dialog, and ran"},
		"mate idle":    {session.Claude, mate, "TeammateIdle", `,"teammate_name":"bob"`, "its turn ended"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.nobody = true
			run := func(event, extra string) {
				t.Helper()
				h := w.hook()
				h.Client = c.client
				if out := w.run(h, event, extra); out != "" {
					t.Errorf("%s printed %q", event, out)
				}
			}
			run("SessionStart", `,"source":"startup"`)
			run("PermissionRequest", c.who+bash("ls"))
			q := w.last()
			if !q.Left() || !strings.HasPrefix(q.Closed.Evidence, "nobody is there") {
				t.Fatalf("%s %+v", q.State, q.Closed)
			}
			if _, err := w.decide(verdict(q, true)); err == nil || !strings.Contains(err.Error(), "asked in the session's own dialog") {
				t.Errorf("an answer: %v", err)
			}
			if r := w.row(t); r.State != session.RowWaitingHuman || !r.AtDialog || len(r.Left) != 1 || len(r.Open) != 0 || !strings.HasSuffix(r.Why, "answer in its own terminal") {
				t.Errorf("%+v", r)
			}
			run(c.event, c.extra)
			q = w.last()
			if q.Left() || !q.Closed.InDialog || !strings.Contains(q.Closed.Evidence, c.over) {
				t.Errorf("after %s: %+v", c.event, q.Closed)
			}
			for _, r := range w.store.List("", w.live()).Rows {
				if len(r.Left) > 0 || r.AtDialog {
					t.Errorf("after %s: %+v", c.event, r)
				}
			}
		})
	}
}

// TestNobodyAttendsSideBySide: Codex shows the dialogs of two calls of one turn one after the other. Each is left to
// it, and each is over by itself.
func TestNobodyAttendsSideBySide(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nobody = true
	run := func(event, extra string) {
		t.Helper()
		h := w.codex()
		w.run(h, event, extra)
		w.kill(h.Self.PID)
	}
	run("SessionStart", "")
	for _, c := range []string{"a", "b"} {
		run("PreToolUse", bash(c)+`,"tool_use_id":"call_`+c+`"`)
		run("PermissionRequest", bash(c))
	}
	if r := w.row(t); len(r.Left) != 2 {
		t.Fatalf("%+v", r.Left)
	}
	run("PostToolUse", bash("b")+`,"tool_use_id":"call_b"`)
	if r := w.row(t); len(r.Left) != 1 || r.Left[0].Ask.ToolUseID != "call_a" || !r.AtDialog {
		t.Errorf("%+v", r)
	}
}

// TestNobodyAttendsRegistered: of a session in the client's registry, this says when a dialog that was left to it is over:
// a denial there runs no hook. It may say a moment later that it waits.
func TestNobodyAttendsRegistered(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status     string
		at, passed time.Duration // of the status, from the request; since the request
		waits      bool
	}{
		"not registered yet":   {"busy", -time.Minute, 0, true},
		"it waits":             {"waiting", time.Millisecond, time.Hour, true},
		"waits since before":   {"waiting", -time.Minute, time.Hour, true},
		"answered, works on":   {"busy", time.Minute, 2 * time.Minute, false},
		"answered at once":     {"idle", 10 * time.Millisecond, 0, false},
		"never waited":         {"busy", -time.Minute, 2 * time.Second, false},
		"a status of no state": {"new", time.Minute, time.Hour, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.nobody = true
			w.run(w.hook(), "PermissionRequest", `,"agent_id":"a1","agent_type":"bob"`+bash("ls"))
			left := w.last().EndAt
			w.ask(w.hook(), bash("make")) // of the session itself, which is registered all the same
			w.store.Now = func() time.Time { return left.Add(c.passed) }
			config := t.TempDir()
			entry := fmt.Sprintf(`{"pid":%d,"sessionId":%q,"kind":"interactive","status":%q,"statusUpdatedAt":%d}`, os.Getpid(), w.id, c.status, left.Add(c.at).UnixMilli())
			path := filepath.Join(config, "sessions", fmt.Sprint(os.Getpid(), ".json"))
			testenv.Must(t, os.Mkdir(filepath.Dir(path), 0o700))
			testenv.Must(t, os.WriteFile(path, []byte(entry), 0o600))
			rows := w.store.List(config, w.live()).Rows
			if waits := len(rows) == 2 && rows[1].AtDialog && len(rows[1].Left) == 1; waits != c.waits {
				t.Errorf("%+v", rows)
			}
		})
	}
}

// TestNobodyAttendsMain: the hook of Claude Code's own session runs beside its dialog, and waits whoever attends.
func TestNobodyAttendsMain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nobody = true
	a := w.ask(w.hook(), bash("ls"))
	w.decided(verdict(w.last(), true))
	if out := a.end(t); !strings.Contains(out, `"allow"`) {
		t.Errorf("printed %q", out)
	}
}

// TestNobodyAttendsRules: the user's rules answer all the same.
func TestNobodyAttendsRules(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nobody = true
	w.rules = allowing(t, "Bash(ls:*)")
	h := w.codex()
	if out := w.run(h, "PermissionRequest", bash("ls -l")); !strings.Contains(out, `"allow"`) {
		t.Errorf("printed %q", out)
	}
}

// TestAttend: a process attends until it releases or ends, however; what it leaves is removed by the next.
func TestAttend(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if got := w.store.Attending(); len(got) != 0 {
		t.Errorf("before any: %v", got)
	}
	one, err := w.store.Attend()
	testenv.Must(t, err)
	two, err := w.store.Attend()
	testenv.Must(t, err)
	if got := w.store.Attending(); len(got) != 2 {
		t.Errorf("two attend: %v", got)
	}
	testenv.Must(t, one())
	if got := w.store.Attending(); len(got) != 1 {
		t.Errorf("one attends: %v", got)
	}
	testenv.Must(t, two())
	dir := filepath.Join(w.store.Dir, ".attended")
	for _, name := range []string{"killed.lock", "forged.lock"} { // no process holds them
		testenv.Must(t, os.WriteFile(filepath.Join(dir, name), []byte("4711"), 0o600))
	}
	if got := w.store.Attending(); len(got) != 0 {
		t.Errorf("files without a holder attend: %v", got)
	}
	three, err := w.store.Attend()
	testenv.Must(t, err)
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
	testenv.Must(t, three())
}

// TestAway: the word holds until its end, and a file that cannot be read is neither on nor replaced.
func TestAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	now := time.Now()
	if a, err := w.store.Away(); err != nil || a.At(now) {
		t.Errorf("before any: %+v, %v", a, err)
	}
	end := now.Add(time.Hour)
	for _, want := range []bool{true, false} {
		if changed, err := w.store.SetAway(t.Context(), session.Away{On: true, Until: &end}); err != nil || changed != want {
			t.Fatalf("changed: %v, %v", changed, err)
		}
	}
	if a, err := w.store.Away(); err != nil || !a.At(now) || a.At(end) {
		t.Errorf("%+v, %v", a, err)
	}
	path := filepath.Join(w.store.Dir, ".away.json")
	testenv.Must(t, os.WriteFile(path, []byte(`{"on":tr`), 0o600))
	if a, err := w.store.Away(); err == nil || a.At(now) {
		t.Errorf("a broken file: %+v, %v", a, err)
	}
	if _, err := w.store.SetAway(t.Context(), session.Away{}); err == nil {
		t.Error("a broken file was replaced")
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != `{"on":tr` {
		t.Errorf("%q, %v", b, err)
	}
}

// TestSharedProcess: of two sessions in one process each is a row by its id, without the process's pane; each is
// dropped with evidence of its own; and a call whose terminal is gone takes no answer although its hook waits.
func TestSharedProcess(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := t.TempDir()
	hook := func() session.Hook {
		h := w.hook()
		h.Client, h.Sessions, h.Pane = session.Codex, func() []session.Registered { return nil }, "%3"
		return h
	}
	run := func(id session.ID, name, extra string) {
		t.Helper()
		w.id = id
		w.run(hook(), name, extra)
	}
	for _, id := range []session.ID{"s-1", "s-2"} {
		run(id, "SessionStart", `,"source":"startup"`)
	}
	rows := func() (ids []string) {
		for _, r := range w.store.List("", w.live()).Rows {
			if r.PID != 0 || r.Pane != "" {
				t.Errorf("%s claims process %d and pane %q", r.ID, r.PID, r.Pane)
			}
			ids = append(ids, string(r.ID))
		}
		return ids
	}
	if got := rows(); strings.Join(got, " ") != "s-1 s-2" {
		t.Fatalf("%v", got)
	}
	// The conversation of the first is removed, and counts only once it was there.
	path := filepath.Join(dir, "rollout.jsonl")
	run("s-1", "UserPromptSubmit", `,"transcript_path":"`+path+`"`)
	if got := rows(); len(got) != 2 {
		t.Fatalf("before its first line: %v", got)
	}
	testenv.Must(t, os.WriteFile(path, nil, 0o600))
	run("s-1", "Stop", `,"transcript_path":"`+path+`"`)
	run("s-1", "UserPromptSubmit", "") // an event without it does not lose it
	testenv.Must(t, os.Remove(path))
	if rows := w.store.List("", w.live()).Rows; len(rows) != 1 || rows[0].ID != "s-2" {
		t.Errorf("%+v", rows)
	}
	run("s-2", "SessionEnd", `,"reason":"other"`)
	if rows := w.store.List("", w.live()).Rows; len(rows) != 0 {
		t.Errorf("%+v", rows)
	}
}

// TestTerminalGone: the process that runs a session's turns outlives its terminal, and its hook goes on waiting. An
// answer then runs nothing, and the row goes.
func TestTerminalGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.makeState()
	h := w.codex()
	w.run(h, "SessionStart", "")
	sees(t, w, process(601), process(602))
	h = w.hook()
	h.Client, h.Tick = session.Codex, time.Hour
	a := w.ask(h, bash("ls"))
	w.kill(601)
	if rows := w.store.List("", w.live()).Rows; len(rows) != 1 {
		t.Errorf("one terminal that may be its is there: %+v", rows)
	}
	w.kill(602)
	_, err := w.decide(verdict(w.last(), true))
	if err == nil || !strings.Contains(err.Error(), "its terminal is gone; nothing was delivered") {
		t.Errorf("an answer: %v", err)
	}
	if rows := w.store.List("", w.live()).Rows; len(rows) != 0 {
		t.Errorf("%+v", rows)
	}
	a.stop()
	<-a.done
	if a.out.Len() > 0 || w.last().State != session.StateClosed || w.last().Closed.Evidence != "its terminal is gone; nothing was delivered" {
		t.Errorf("printed %q, %+v", a.out.String(), w.last().Closed)
	}

	// The hook looks by itself, too.
	v := newWorld(t)
	h = v.codex()
	v.run(h, "SessionStart", "")
	sees(t, v, process(601))
	h = v.codex()
	a = v.ask(h, bash("ls"))
	v.kill(601)
	if out := a.end(t); out != "" || v.last().State != session.StateClosed {
		t.Errorf("printed %q, %s", out, v.last().State)
	}
}

// TestTerminals: a prompt in a session of a shared process records the terminals that may be its.
func TestTerminals(t *testing.T) {
	t.Parallel()
	testenv.Require(t, "sh")
	w := newWorld(t)
	daemon := fakeDaemon(t)
	h := w.hook()
	h.Client, h.Pane = session.Codex, "%3"
	h.Sessions = func() []session.Registered { return []session.Registered{{Session: w.id, Process: daemon}} }
	h.Live.Ancestors = func(int) ([]spawn.Identity, error) { return []spawn.Identity{daemon}, nil }
	h.Terminals = func(cwd string) []spawn.Identity {
		if cwd != "/w" {
			t.Errorf("asked for %q", cwd)
		}
		return []spawn.Identity{process(601)}
	}
	w.run(h, "SessionStart", "")
	w.run(h, "UserPromptSubmit", "")
	w.run(h, "Stop", "") // it keeps them
	if got := w.open().LastSeen(); len(got) != 1 || len(got[0].Terminals) != 1 || got[0].Terminals[0] != process(601) {
		t.Errorf("%+v", got)
	}
	if r := w.row(t); r.PID != 0 || r.Pane != "" {
		t.Errorf("alone in a shared process it claims %d and %q", r.PID, r.Pane)
	}
}

// allowing is a policy with one rule.
func allowing(t *testing.T, rule string) *policy.Policy {
	t.Helper()
	r, err := policy.ParseRule(rule)
	testenv.Must(t, err)
	return &policy.Policy{Mode: policy.ModeDefault, Allow: []policy.Rule{r}}
}

// sees writes what a prompt records of the terminals of the world's session.
func sees(t *testing.T, w *world, at ...spawn.Identity) {
	t.Helper()
	dir := filepath.Join(w.store.Dir, string(w.id), "agents")
	b, err := json.Marshal(session.Seen{Event: "UserPromptSubmit", At: time.Now(), Terminals: at})
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "self"), b, 0o600)
	}
	testenv.Must(t, err)
}

// fakeDaemon is a process that is called as the one that runs Codex's sessions.
func fakeDaemon(t *testing.T) spawn.Identity {
	t.Helper()
	cmd := exec.Command("sh", "-c", "echo; read end", "codex", "app-server", "--managed-daemon")
	in, err := cmd.StdinPipe()
	out, oerr := cmd.StdoutPipe()
	if err = errors.Join(err, oerr); err == nil {
		err = cmd.Start()
	}
	if err == nil { // for a moment after the start a process has no command line
		_, err = out.Read(make([]byte, 1))
	}
	testenv.Must(t, err)
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait() // it was read to its end
	})
	id, err := spawn.Identify(cmd.Process.Pid)
	testenv.Must(t, err)
	return id
}
