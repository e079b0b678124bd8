package session

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"waggle/internal/json/jsonobj"
)

// haltFile says in a session's directory that its user has stopped its turn.
const haltFile = "halted"

// stoppedAll is the reason without the user's own.
const stoppedAll = "your user has stopped all work"

// maxHalt bounds the reason that a hook reads.
const maxHalt = 4 << 10

// Halt has the hooks of a session refuse every call that it makes, and what it asks, until its person types there. Newer
// clients end its turn. It only narrows. A session without a directory has no hooks.
func (s Store) Halt(id ID, reason string) error {
	if _, err := os.Stat(s.Path(id)); err != nil {
		return fmt.Errorf("session %s: %w", id, err)
	}
	words := stoppedAll
	if reason = oneLine(reason); reason != "" {
		words += ": " + reason
	}
	return quick(filepath.Join(s.Path(id), haltFile), []byte(words))
}

// promptsFile says in a session's directory that its hooks tell of prompts.
const promptsFile = "prompts"

// goesOn ends a halt of the session, after an event that begins or ends its work. The end of a turn does not, where a
// prompt will: teammates and subagents of the session may go on after it.
func (h Hook) goesOn(e Event, event string) error {
	dir := h.Store.Path(e.Session)
	_, err := os.Lstat(filepath.Join(dir, promptsFile))
	switch prompts := err == nil; {
	case event == "Stop" && (prompts || e.Agent != ""):
		return nil
	case event == "UserPromptSubmit" && !prompts:
		if _, err := os.Stat(dir); err != nil {
			return nil // nothing is known of the session
		}
		if err := quick(filepath.Join(dir, promptsFile), nil); err != nil {
			return err
		}
	}
	path := filepath.Join(dir, haltFile)
	if _, err := os.Lstat(path); err != nil {
		return nil // it is not halted
	}
	return os.Remove(path)
}

// halted is why the user has stopped the session's turn; ok is false when they have not. A file that is there stops,
// whatever is in it.
func (h Hook) halted(e Event) (reason string, ok bool) {
	path := filepath.Join(h.Store.Path(e.Session), haltFile)
	info, err := os.Lstat(path)
	if err != nil {
		return "", false
	}
	reason = stoppedAll
	if info.Mode().IsRegular() && info.Size() <= maxHalt {
		if b, err := os.ReadFile(path); err == nil && len(b) > 0 {
			reason = string(b)
		}
	}
	return reason, true
}

// stop answers an event of a halted session, in the form that its client documents for it.
func (h Hook) stop(event, reason string, out io.Writer) error {
	why := string(jsonobj.AppendString(nil, reason))
	text := `{"continue":false,"stopReason":` + why
	switch event {
	case "PermissionRequest":
		text = `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":` + why
		if h.Client == Claude {
			text += `,"interrupt":true`
		}
		text += `}}`
	case "PreToolUse":
		text += `,"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":` + why + `}`
	}
	_, err := io.WriteString(out, text+"}\n")
	return err
}
