package modelserver

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"waggle/internal/cut"
)

// Request is one call of the Messages API: what the model sees.
type Request struct {
	// N counts the requests of a server, from 0.
	N int
	// Session is the session's id, as metadata.user_id has it, "" without one.
	Session string
	// Background says that the client asks for itself: a title, a topic.
	Background bool
	Model      string
	Stream     bool
	System     string
	Tools      []string
	Messages   []Message
	Body       json.RawMessage
}

// Message is one message of the conversation.
type Message struct {
	Role   string  `json:"role"`
	Blocks content `json:"content"`
}

// content is a string or a list of blocks, on the wire.
type content []Block

// Block is a part of a message: of type text, tool_use or tool_result; of others only
// the type is kept.
type Block struct {
	Type string `json:"type"`
	// Text is the words of a text and of a tool_result.
	Text string `json:"text"`
	// ID is the tool_use's id, also in the tool_result.
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Input   json.RawMessage `json:"input"`
	IsError bool            `json:"is_error"`
}

// First is the text of the first user message, in which a test puts the marker that
// tells its sessions apart.
func (r Request) First() string {
	for _, m := range r.Messages {
		if m.Role == "user" {
			return m.text()
		}
	}
	return ""
}

// Said is the text of the user messages since the last assistant message.
func (r Request) Said() string {
	var texts []string
	for _, m := range r.since() {
		texts = append(texts, m.text())
	}
	return strings.Join(texts, "\n")
}

// Results are the tool results since the last assistant message.
func (r Request) Results() []Block {
	var list []Block
	for _, m := range r.since() {
		for _, b := range m.Blocks {
			if b.Type == "tool_result" {
				list = append(list, b)
			}
		}
	}
	return list
}

// Turns counts the assistant messages of the conversation.
func (r Request) Turns() int {
	n := 0
	for _, m := range r.Messages {
		if m.Role == "assistant" {
			n++
		}
	}
	return n
}

func (r Request) since() []Message {
	list := r.Messages
	for i, m := range r.Messages {
		if m.Role == "assistant" {
			list = r.Messages[i+1:]
		}
	}
	return list
}

func (m Message) text() string {
	var texts []string
	for _, b := range m.Blocks {
		// What the client adds by itself is nobody's words.
		if b.Type == "text" && !strings.HasPrefix(b.Text, "<system-reminder>") {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// String is the conversation, for a failing test.
func (r Request) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "request %d of session %q, model %s, background %t, %d tools\n", r.N, r.Session, r.Model, r.Background, len(r.Tools))
	for _, m := range r.Messages {
		for _, b := range m.Blocks {
			fmt.Fprintf(&s, "  %s %s %s %s %s\n", m.Role, b.Type, b.Name, b.Input, cut.Valid(b.Text, 400))
		}
	}
	return s.String()
}

func parseRequest(body []byte) (Request, error) {
	var raw struct {
		Model    string    `json:"model"`
		Stream   bool      `json:"stream"`
		System   content   `json:"system"`
		Messages []Message `json:"messages"`
		Tools    []struct {
			Name string `json:"name"`
		} `json:"tools"`
		Metadata struct {
			UserID string `json:"user_id"`
		} `json:"metadata"`
	}
	err := json.Unmarshal(body, &raw)
	r := Request{Model: raw.Model, Stream: raw.Stream, Body: body, Session: sessionOf(raw.Metadata.UserID), Messages: raw.Messages,
		System: Message{Blocks: raw.System}.text(), Background: len(raw.Tools) == 0} // the client's own questions come without its tools
	for _, tool := range raw.Tools {
		r.Tools = append(r.Tools, tool.Name)
	}
	return r, err
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *content) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		if string(raw) != "null" {
			*c = content{{Type: "text", Text: text}}
		}
		return nil
	}
	var list []struct {
		Block
		ToolUseID string          `json:"tool_use_id"`
		Content   json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	for _, b := range list {
		if b.Type == "tool_result" {
			var inner content
			if err := json.Unmarshal([]byte(cmp.Or(string(b.Content), "null")), &inner); err != nil {
				return fmt.Errorf("tool_result: %w", err)
			}
			b.ID, b.Text = b.ToolUseID, Message{Blocks: inner}.text()
		}
		*c = append(*c, b.Block)
	}
	return nil
}

// sessionOf finds the session's id in metadata.user_id, which is JSON or
// user_…_account_…_session_ID.
func sessionOf(user string) string {
	var o struct {
		Session string `json:"session_id"`
	}
	if json.Unmarshal([]byte(user), &o) == nil {
		return o.Session
	}
	if _, id, ok := strings.Cut(user, "_session_"); ok {
		return id
	}
	return ""
}

// Since counts the assistant messages after the last user message that has these words; -1: none
// has them.
func (r Request) Since(words string) int {
	n := -1
	for _, m := range r.Messages {
		switch {
		case m.Role == "user" && strings.Contains(m.text(), words):
			n = 0
		case m.Role == "assistant" && n >= 0:
			n++
		}
	}
	return n
}
