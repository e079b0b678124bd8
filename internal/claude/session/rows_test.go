package session_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"waggle/internal/claude/session"
	"waggle/internal/test/testenv"
)

// TestRowNewer: of a notification and the state in the client's registry the newer counts, and a session that
// waits at a dialog without a request says where to answer.
func TestRowNewer(t *testing.T) {
	t.Parallel()
	const before, after = -time.Minute, time.Minute
	const prompt = `,"notification_type":"permission_prompt","message":"needs you"`
	for name, c := range map[string]struct {
		note, kind, status string
		at                 time.Duration // of the status, from the notification
		asks               bool
		state, why         string
		dialog             bool
	}{
		"answered, works on":         {note: prompt, status: "busy", at: after, state: session.RowBusy},
		"answered, turn over":        {note: prompt, status: "idle", at: after, state: session.RowIdle},
		"the dialog came later":      {note: prompt, status: "busy", at: before, state: session.RowWaitingHuman, why: "needs you; answer in its own terminal (%3)", dialog: true},
		"in an idle session":         {note: prompt, status: "idle", at: before, state: session.RowWaitingHuman, why: "needs you; answer in its own terminal (%3)", dialog: true},
		"both say it":                {note: prompt, status: "waiting", at: after, state: session.RowWaitingHuman, why: "needs you; answer in its own terminal (%3)", dialog: true},
		"the registry alone":         {status: "waiting", at: after, state: session.RowWaitingHuman, why: "a dialog without a hook; answer in its own terminal", dialog: true},
		"its host answers":           {status: "waiting", kind: "sdk", at: after, state: session.RowWaitingHuman},
		"an older message of idling": {note: `,"notification_type":"idle_prompt","message":"waits for words"`, status: "busy", at: after, state: session.RowBusy},
		"a request":                  {note: prompt, status: "waiting", at: after, asks: true, state: session.RowWaitingHuman},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if c.note != "" {
				h := w.hook()
				h.Pane = "%3"
				w.run(h, "SessionStart", `,"source":"startup"`)
			}
			if c.asks {
				w.ask(w.hook(), bash("ls"))
			}
			if c.note != "" {
				w.run(w.hook(), "Notification", c.note)
			}
			if c.kind == "" {
				c.kind = "interactive"
			}
			config := t.TempDir()
			testenv.Must(t, os.Mkdir(filepath.Join(config, "sessions"), 0o700))
			at := time.Now().Add(c.at)
			entry := fmt.Sprintf(`{"pid":%d,"sessionId":%q,"kind":%q,"status":%q,"statusUpdatedAt":%d}`, os.Getpid(), w.id, c.kind, c.status, at.UnixMilli())
			testenv.Must(t, os.WriteFile(filepath.Join(config, "sessions", fmt.Sprint(os.Getpid(), ".json")), []byte(entry), 0o600))
			rows := w.store.List(config, w.live()).Rows
			if len(rows) != 1 {
				t.Fatalf("%d rows", len(rows))
			}
			r := rows[0]
			if r.State != c.state || r.Why != c.why || r.AtDialog != c.dialog || (len(r.Open) > 0) != c.asks {
				t.Errorf("%s, %q, at a dialog: %v, %d requests; want %s, %q, %v, a request: %v", r.State, r.Why, r.AtDialog, len(r.Open), c.state, c.why, c.dialog, c.asks)
			}
		})
	}
}

// TestRowRuns: the row of a session that works says which call of its own runs, and no earlier or ended one.
func TestRowRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	row := func(want string) {
		t.Helper()
		rows := w.store.List("", w.live()).Rows
		if len(rows) != 1 || rows[0].Why != want {
			t.Errorf("%+v, want %q", rows, want)
		}
	}
	call := func(event, id, more string) {
		t.Helper()
		w.run(w.hook(), event, fmt.Sprintf(`,"tool_use_id":%q,"tool_name":"Bash","tool_input":{"command":"npm run %s\nthen"}%s`, id, id, more))
	}
	w.run(w.hook(), "SessionStart", `,"source":"startup"`)
	w.run(w.hook(), "UserPromptSubmit", "")
	row("")
	call("PreToolUse", "build", "")
	row("npm run build")
	call("PreToolUse", "test", "")
	row("npm run test")
	call("PreToolUse", "lint", `,"agent_id":"a1","agent_type":"mate"`)
	row("npm run test")
	call("PostToolUse", "test", "")
	row("npm run build")
	w.run(w.hook(), "Stop", "")
	row("")
	w.run(w.hook(), "UserPromptSubmit", "")
	row("")
}

// TestMode: the permission mode of a session is that of the last event or request that named one.
func TestMode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if got := w.open().Mode(); got != "" {
		t.Errorf("before any event it is %q", got)
	}
	w.run(w.hook(), "UserPromptSubmit", `,"permission_mode":"auto"`) // the last of equal keys counts
	w.run(w.hook(), "Notification", `,"permission_mode":"","message":"x"`)
	if got := w.open().Mode(); got != "auto" {
		t.Errorf("it is %q, want auto", got)
	}
	w.store.Now = func() time.Time { return time.Now().Add(time.Minute) }
	w.ask(w.hook(), bash("ls"))
	if got := w.open().Mode(); got != "default" {
		t.Errorf("after a request in mode default it is %q", got)
	}
}
