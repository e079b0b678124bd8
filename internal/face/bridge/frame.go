package bridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"waggle/internal/face/view"
	"waggle/internal/face/view/page"
	"waggle/internal/json/jsonobj"
	"waggle/operator/decide"
	"waggle/operator/mail"
)

// Frames from an editor.
const (
	opHello  = "hello"  // version, token, id
	opTook   = "took"   // entry: a message to this editor was shown
	opDecide = "decide" // ref, id, digest, decision, reason
	opSend   = "send"   // ref, to, text
)

// Frames to an editor.
const (
	opWelcome = "welcome" // version, team, id
	opMessage = "message" // entry: sent to this editor; again until it is took
	opTeam    = "team"    // member, entries: new in a member's mailbox
	opPending = "pending" // pending: everything that waits
	opStatus  = "status"  // status
	opResult  = "result"  // ref, and decided or sent, or error
	opError   = "error"   // code, error: and the connection ends
)

// frame is what an editor sent.
type frame struct {
	op                        string
	version                   int
	token, id                 string
	entry                     string
	ref, digest, decision, to string
	reason, text              string
}

// parseFrame reads a frame by its exact field names. A name that occurs twice and
// a name that is not known are errors: an answer must have one reading.
func parseFrame(data []byte) (frame, error) {
	var f frame
	known := map[string]any{"op": &f.op, "v": &f.version, "token": &f.token, "id": &f.id, "entry": &f.entry, "ref": &f.ref,
		"digest": &f.digest, "decision": &f.decision, "to": &f.to, "reason": &f.reason, "text": &f.text}
	if !utf8.Valid(data) {
		return f, errors.New("not UTF-8")
	}
	o, err := jsonobj.Parse(data)
	if err != nil {
		return f, fmt.Errorf("not a JSON object: %w", err)
	}
	for _, name := range o.Keys() {
		to, ok := known[name]
		if !ok {
			return f, fmt.Errorf("field %q is unknown or occurs twice", name)
		}
		delete(known, name)
		raw, _ := o.Get(name)
		if err := json.Unmarshal(raw, to); err != nil {
			return f, fmt.Errorf("field %q: %w", name, err)
		}
	}
	return f, nil
}

// push is what an editor is sent; only the fields of its op are there.
type push struct {
	Op      string               `json:"op"`
	V       int                  `json:"v,omitempty"`
	Team    string               `json:"team,omitempty"`
	ID      string               `json:"id,omitempty"`
	Member  string               `json:"member,omitempty"`
	Entry   *mail.InboxEntry     `json:"entry,omitempty"`
	Entries []mail.InboxEntry    `json:"entries,omitempty"`
	Pending *page.Told           `json:"pending,omitempty"`
	Status  *view.StatusDocument `json:"status,omitempty"`
	Ref     string               `json:"ref,omitempty"`
	Decided *decide.Decided      `json:"decided,omitempty"`
	Sent    *[]mail.Sent         `json:"sent,omitempty"`
	Code    int                  `json:"code,omitempty"`
	Error   string               `json:"error,omitempty"`
	Hint    string               `json:"hint,omitempty"`
}

// question is a request with its input as text besides: a program that parses JSON
// numbers into floating point would show another input than the one that runs.
type question struct {
	decide.Request
	InputText string `json:"input_text"`
}

// failed is a push that says what went wrong, with the exit code that the command
// line documents.
func (b *Bridge) failed(op, ref string, err error) push {
	p := push{Op: op, Ref: ref, Error: err.Error()}
	p.Code, p.Hint = b.o.Explain(err)
	return p
}
