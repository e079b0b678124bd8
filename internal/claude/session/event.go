package session

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"waggle/internal/json/jsontext"
)

// maxEvent is how many bytes a hook reads from its client.
const maxEvent = 8 << 20

// Event is the input of a hook from a client, decoded by exact field name.
type Event struct {
	Name      string // hook_event_name
	Session   ID
	Cwd       string
	Mode      string // permission_mode
	Tool      string
	Input     json.RawMessage // tool_input, as it stands
	ToolUseID string
	Agent     string // agent_id: a teammate within the session
	AgentType string // its name
	// Suggestions are what the dialog offers beside yes and no.
	Suggestions json.RawMessage
	Message     string // of a notification
	Note        string // notification_type
	Teammate    string // teammate_name
	Source      string // of SessionStart; the reason of SessionEnd
	Transcript  string // transcript_path: the client's file of the conversation
}

// readEvent reads one event. Keys that differ only in case from these are other keys.
func readEvent(in io.Reader) (Event, error) {
	data, err := io.ReadAll(io.LimitReader(in, maxEvent+1))
	if err != nil {
		return Event{}, fmt.Errorf("hook input: %w", err)
	}
	if len(data) > maxEvent {
		return Event{}, fmt.Errorf("hook input is larger than %d bytes", maxEvent)
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(data, &m); err != nil {
		return Event{}, fmt.Errorf("hook input: %w", err)
	}
	e := Event{Name: jsontext.TextOf(m, "hook_event_name"), Cwd: jsontext.TextOf(m, "cwd"), Mode: jsontext.TextOf(m, "permission_mode"), Tool: jsontext.TextOf(m, "tool_name"),
		Input: bytes.TrimSpace(m["tool_input"]), ToolUseID: jsontext.TextOf(m, "tool_use_id"), Agent: jsontext.TextOf(m, "agent_id"), AgentType: jsontext.TextOf(m, "agent_type"),
		Suggestions: m["permission_suggestions"], Message: jsontext.TextOf(m, "message"), Note: jsontext.TextOf(m, "notification_type"), Teammate: jsontext.TextOf(m, "teammate_name"),
		Source: cmp.Or(jsontext.TextOf(m, "source"), jsontext.TextOf(m, "reason")), Transcript: jsontext.TextOf(m, "transcript_path")}
	e.Session, err = ParseID(jsontext.TextOf(m, "session_id"))
	return e, err
}

var errNoInput = errors.New("the event names no tool or no input")
