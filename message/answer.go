package message

import (
	"bytes"
	"cmp"
	"encoding/json"

	"waggle/internal/json/jsontext"
	"waggle/protocol"
)

// Answer is what a response in a mailbox says to a request, where no record of the lead stands
// behind it.
type Answer struct {
	Of     protocol.Kind // the kind of what it answers
	ID     protocol.RequestID
	Allow  bool
	Reason string
	Call   string          // tool_use_id; "": it names none
	Host   string          // "": it names none
	Input  json.RawMessage // the input to run; empty: the input that was asked
	More   bool            // it says more than yes or no
}

// AnswerOf reads a response; the zero Answer is that of another payload.
func AnswerOf(p protocol.Payload) Answer {
	switch p := p.(type) {
	case protocol.PermissionResponse:
		v := Answer{Of: protocol.KindPermissionRequest, ID: protocol.RequestID(p.RequestID), Allow: p.Subtype == protocol.SubtypeSuccess, Reason: cmp.Or(p.Error, p.Notes),
			Call: p.ToolUseID, More: p.Mode != ""}
		if p.Response != nil {
			v.Input, v.More = p.Response.UpdatedInput, v.More || len(p.Response.PermissionUpdates) > 0
		}
		return v
	case protocol.PlanApprovalResponse:
		return Answer{Of: protocol.KindPlanApprovalRequest, ID: protocol.RequestID(p.RequestID), Allow: p.Approved, Reason: p.Feedback, More: p.PermissionMode != ""}
	case protocol.SandboxPermissionResponse:
		return Answer{Of: protocol.KindSandboxPermissionRequest, ID: protocol.RequestID(p.RequestID), Allow: p.Allow, Reason: p.Notes, Host: p.Host, More: p.Scope != "" && p.Scope != scopeOnce && p.Scope != "once"}
	}
	return Answer{}
}

// SameInput reports an input that equals the one that was asked: none, an empty object, or the same
// values. The input that runs is always the one that was asked, byte for byte.
func SameInput(got json.RawMessage, asked string) bool {
	got = bytes.TrimSpace(got)
	if len(got) == 0 || string(got) == "null" || string(got) == "{}" || string(got) == asked {
		return true
	}
	return jsontext.Same(got, []byte(asked))
}
