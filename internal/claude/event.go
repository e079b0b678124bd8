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

// Event is what a hook is told.
type Event struct {
	Name    string
	Session string
	Tool    string
	Input   json.RawMessage // a JSON object, of events about a tool; of an Elicitation the whole event
	Cwd     string
	UseID   string
	Agent   string // a subagent's id
	Mode    string // the client's permission mode
	Model   string // of SessionStart
	Kind    string // of a notification, of a start or an end
	Text    string // the prompt, the model's last words, the end of a tool's output, a notification's words
}

// texts are the fields of an event that are texts, as an event of ours has them.
func (e *Event) texts() []struct {
	key string
	at  *string
} {
	return []struct {
		key string
		at  *string
	}{{"hook_event_name", &e.Name}, {"session_id", &e.Session}, {"tool_name", &e.Tool}, {"cwd", &e.Cwd}, {"tool_use_id", &e.UseID}, {"agent_id", &e.Agent},
		{"permission_mode", &e.Mode}, {"model", &e.Model}, {"kind", &e.Kind}, {"text", &e.Text}}
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

// line encodes the event for the socket.
func (e Event) line() []byte {
	b := []byte(`{`)
	for _, f := range e.texts() {
		if *f.at != "" {
			b = append(append(append(jsonobj.AppendString(b, f.key), ':'), jsonobj.AppendString(nil, *f.at)...), ',')
		}
	}
	if e.Input == nil {
		return append(b[:len(b)-1], "}\n"...)
	}
	return append(append(append(b, `"tool_input":`...), unbroken.Replace(string(e.Input))...), "}\n"...)
}

// parseEvent reads a line of the socket.
func parseEvent(line []byte) (e Event, err error) {
	o, err := jsonobj.Parse(line)
	if err != nil {
		return e, err
	}
	for _, f := range e.texts() {
		*f.at = o.Text(f.key)
	}
	e.Input, _ = o.Get("tool_input")
	if e.Name == "" {
		return e, errors.New("the event has no name")
	}
	return e, nil
}
