package session

import (
	"cmp"
	"encoding/json"
	"time"

	"waggle/internal/claude/elicitation"
	"waggle/internal/json/jsonobj"
	"waggle/record"
)

// Client is a program whose sessions have hooks of ours.
type Client string

// The clients.
const (
	// Claude runs its PermissionRequest hook beside its own dialog: the first answer decides
	// (client §2).
	Claude Client = "claude"
	// Codex has the same hook with the same answer, but runs it before its own prompt: while the
	// hook waits, the person at the terminal cannot answer. So it waits only while somebody attends, and
	// a short time. It takes no changed input: an answer with one fails closed
	// (developers.openai.com/codex/hooks).
	Codex Client = "codex"
	// Gemini has hooks that report a permission dialog and none that answers it: its sessions are
	// rows, and their requests are answered in their own dialogs
	// (geminicli.com/docs/hooks/reference).
	Gemini Client = "gemini"
)

// Answers reports whether a client's hook can answer its permission requests.
func (c Client) Answers() bool { return c == Claude || c == Codex }

// Known reports whether a client's hook protocol is spoken here.
func (c Client) Known() bool { return c == Claude || c == Codex || c == Gemini }

// changes reports whether a client runs another input than it asked about.
func (c Client) changes() bool { return c == Claude }

// serial reports whether a client holds its own prompt back while its hook waits.
func (c Client) serial() bool { return c == Codex }

// How long a hook waits that holds back its client's own prompt.
const (
	serialWait = 30 * time.Second
	// mateWait is for a teammate within a session of Claude Code: its dialog in the lead's
	// session comes only after the hook has ended without an answer.
	mateWait = 2 * time.Minute
)

// eventOf maps a client's event to its name in this package; "" for an event that is not used.
func (c Client) eventOf(event string) string {
	switch {
	case c == Codex && event == "Interrupt": // a turn that its person has ended runs no Stop
		return "Stop"
	case c != Gemini:
		return event
	}
	switch event {
	case "BeforeAgent", "AfterTool":
		return "UserPromptSubmit"
	case "AfterAgent":
		return "Stop"
	case "SessionStart", "SessionEnd", "Notification":
		return event
	}
	return ""
}

// formOf says what a tool call asks its person for.
func (c Client) formOf(tool string) Form {
	if c != Claude {
		return FormTool
	}
	switch tool {
	case "ExitPlanMode":
		return FormPlan
	case "AskUserQuestion":
		return FormQuestion
	}
	return FormTool
}

// reply is what a hook prints for a decision, as Claude Code documents it. Tools that need their
// user (a plan, a question) take an allow only with their input (client §2).
func reply(r Request) ([]byte, error) {
	d := r.Decided
	out := []byte(`{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":`)
	if d.Decision == record.DecisionDeny {
		out = append(out, `"deny","message":`...)
		return append(jsonobj.AppendString(out, cmp.Or(d.Reason, "denied by your user, who gave no reason")), "}}}\n"...), nil
	}
	var input json.RawMessage
	switch {
	case r.Form == FormQuestion:
		var err error
		if input, err = elicitation.Answered(json.RawMessage(r.Ask.Input), d.Answers); err != nil {
			return nil, err
		}
	case d.UpdatedInput != "":
		input = json.RawMessage(d.UpdatedInput)
	case r.Form == FormPlan:
		input = json.RawMessage(r.Ask.Input)
	}
	out = append(out, `"allow"`...)
	if input != nil {
		out = append(append(out, `,"updatedInput":`...), input...)
	}
	return append(out, "}}}\n"...), nil
}
