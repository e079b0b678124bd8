package session_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waggle/internal/claude/session"
	"waggle/internal/test/testenv"
)

// TestHalt: while a session is halted its calls and requests are refused, in its client's form, and nothing is recorded
// of them. Its person's next words end that; the end of a turn does where no hook tells of words. A session without a
// directory is not halted, and a strange file halts.
func TestHalt(t *testing.T) {
	w := newWorld(t)
	h := w.hook()
	call := bash("touch x")
	if err := w.store.Halt("s-1", "wrong"); err == nil {
		t.Error("a session that no hook knows was halted")
	}
	w.run(h, "SessionStart", "")
	if out := w.run(h, "PreToolUse", call); out != "" {
		t.Errorf("not halted: %s", out)
	}
	halt := func() {
		t.Helper()
		testenv.Must(t, w.store.Halt(w.id, "wrong branch\nand more"))
	}
	halt()
	for name, want := range map[string]string{
		"PreToolUse":        `"permissionDecision":"deny","permissionDecisionReason":"your user has stopped all work: wrong branch"`,
		"PermissionRequest": `"decision":{"behavior":"deny","message":"your user has stopped all work: wrong branch","interrupt":true}`,
		"PostToolUse":       `{"continue":false,"stopReason":"your user has stopped all work: wrong branch"}`,
	} {
		if out := w.run(h, name, call); !strings.Contains(out, want) {
			t.Errorf("%s: %s, want %s", name, out, want)
		}
	}
	if rs := w.requests(); len(rs) != 0 {
		t.Errorf("recorded %+v", rs)
	}
	goesOn := func(how string, on bool) {
		t.Helper()
		if out := w.run(h, "PreToolUse", call); (out == "") != on {
			t.Errorf("%s: goes on %v: %s", how, out == "", out)
		}
	}
	w.run(h, "Stop", "")
	goesOn("the end of its turn, without prompts", true)
	halt()
	w.run(h, "UserPromptSubmit", "")
	goesOn("words", true)
	halt()
	w.run(h, "Stop", "")
	goesOn("the end of its turn, with prompts", false)
	w.run(h, "SessionStart", "")
	goesOn("another start", true)
	testenv.Must(t, os.Mkdir(filepath.Join(w.open().Dir, "halted"), 0o700))
	goesOn("a directory", false)

	codex := h
	codex.Client = session.Codex
	if out := w.run(codex, "PermissionRequest", call); strings.Contains(out, "interrupt") || !strings.Contains(out, `"behavior":"deny"`) {
		t.Errorf("codex: %s", out)
	}
	gemini := h
	gemini.Client = session.Gemini
	if out := w.run(gemini, "AfterTool", ""); out != "" {
		t.Errorf("gemini: %s", out)
	}
}
