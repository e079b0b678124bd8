package claude

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"waggle/agent"
	"waggle/internal/json/jsonobj"
)

// The events of a client with a hook of ours.
const (
	preToolUse         = "PreToolUse"
	permissionRequest  = "PermissionRequest"
	postToolUse        = "PostToolUse"
	postToolUseFailure = "PostToolUseFailure"
	userPromptSubmit   = "UserPromptSubmit"
	stop               = "Stop"
	stopFailure        = "StopFailure"
	sessionStart       = "SessionStart"
	sessionEnd         = "SessionEnd"
	notification       = "Notification"
	elicitationAsked   = "Elicitation"
)

// events are all of them, for a client in a pane.
var events = []string{preToolUse, permissionRequest, postToolUse, postToolUseFailure, userPromptSubmit, stop, stopFailure, sessionStart, sessionEnd, notification, elicitationAsked}

// AsksPerson reports the events whose hook prints an answer, for which a person may take long.
func AsksPerson(event string) bool { return event == permissionRequest || event == elicitationAsked }

// Event is what a hook is told, and a line of the socket.
type Event struct {
	Name    string          `json:"hook_event_name"`
	Session string          `json:"session_id,omitempty"`
	Tool    string          `json:"tool_name,omitempty"`
	Cwd     string          `json:"cwd,omitempty"`
	UseID   string          `json:"tool_use_id,omitempty"`
	Agent   string          `json:"agent_id,omitempty"`        // a subagent's id
	Mode    string          `json:"permission_mode,omitempty"` // the client's
	Model   string          `json:"model,omitempty"`           // of SessionStart
	Kind    string          `json:"kind,omitempty"`            // of a notification, of a start or an end
	Text    string          `json:"text,omitempty"`            // the prompt, the model's last words, the end of a tool's output, a notification's words
	Input   json.RawMessage `json:"tool_input,omitempty"`      // a JSON object, of events about a tool; of an Elicitation the whole event
}

// maxEvent is the largest permitted input of a hook.
const maxEvent = 8 << 20

// readEvent reads what the client gives to the hook of an event, by exact field name.
func readEvent(in io.Reader, event string) (Event, error) {
	data, err := io.ReadAll(io.LimitReader(in, maxEvent+1))
	switch {
	case err != nil:
		return Event{}, fmt.Errorf("hook input: %w", err)
	case len(data) > maxEvent:
		return Event{}, fmt.Errorf("hook input is larger than %d bytes", maxEvent)
	}
	o, err := jsonobj.Parse(data)
	if err != nil {
		return Event{}, fmt.Errorf("hook input: %w", err)
	}
	if twice := o.Duplicates(); len(twice) > 0 {
		return Event{}, fmt.Errorf("hook input: %q occurs twice", twice[0])
	}
	if name := o.Text("hook_event_name"); name != event {
		return Event{}, fmt.Errorf("the hook is for %s and got the event %q", event, clipped(name))
	}
	e := Event{Name: event, Session: o.Text("session_id"), Tool: o.Text("tool_name"), Cwd: o.Text("cwd"), UseID: o.Text("tool_use_id"),
		Agent: o.Text("agent_id"), Mode: o.Text("permission_mode"), Model: o.Text("model")}
	switch event {
	case preToolUse, permissionRequest, postToolUse, postToolUseFailure:
		e.Input, _ = o.Get("tool_input")
		if e.Tool == "" || jsonobj.TypeOf(e.Input) != "object" {
			return Event{}, errors.New("hook input: it names no tool, or no input")
		}
		e.Text = output(o)
	case elicitationAsked:
		e.Input = bytes.TrimSpace(data)
	case userPromptSubmit:
		e.Text = o.Text("prompt")
	case stop, stopFailure:
		e.Text = o.Text("last_assistant_message")
		e.Kind = o.Text("error")
	case notification:
		e.Kind, e.Text = o.Text("notification_type"), o.Text("message")
	case sessionStart:
		e.Kind = o.Text("source")
	case sessionEnd:
		e.Kind = o.Text("reason")
	}
	return e, nil
}

// output is the end of what a tool has returned: a command's output, its error, or its result as it
// stands.
func output(o *jsonobj.Object) string {
	if words := o.Text("error"); words != "" {
		return tail(words)
	}
	raw, ok := o.Get("tool_response")
	if !ok {
		return ""
	}
	if words, ok := jsonobj.String(raw); ok {
		return tail(words)
	}
	if r := o.Object("tool_response"); r.Text("stdout") != "" || r.Text("stderr") != "" {
		return tail(strings.TrimSpace(r.Text("stdout") + "\n" + r.Text("stderr")))
	}
	return tail(string(raw[:min(len(raw), agent.TailSize)]))
}
