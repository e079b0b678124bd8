package message

import (
	"bytes"
	"encoding/json"

	"waggle"
	"waggle/internal/jsontext"
)

// Answer is what a response in a mailbox says to a request, where no record of the lead stands
// behind it.
type Answer struct {
	Of     waggle.Kind // the kind of what it answers
	ID     waggle.RequestID
	Allow  bool
	Reason string
	Call   string          // tool_use_id; "": it names none
	Host   string          // "": it names none
	Input  json.RawMessage // the input to run; empty: the input that was asked
	More   bool            // it says more than yes or no
}

// AnswerOf reads a response; the zero Answer is that of another payload.
func AnswerOf(p waggle.Payload) Answer {
	switch p := p.(type) {
	case waggle.PermissionResponse:
		v := Answer{Of: waggle.KindPermissionRequest, ID: waggle.RequestID(p.RequestID), Allow: p.Subtype == waggle.SubtypeSuccess, Reason: p.Error,
			Call: p.ToolUseID, More: p.Mode != ""}
		if v.Reason == "" {
			v.Reason = p.Notes
		}
		if p.Response != nil {
			v.Input, v.More = p.Response.UpdatedInput, v.More || len(p.Response.PermissionUpdates) > 0
		}
		return v
	case waggle.PlanApprovalResponse:
		return Answer{Of: waggle.KindPlanApprovalRequest, ID: waggle.RequestID(p.RequestID), Allow: p.Approved, Reason: p.Feedback, More: p.PermissionMode != ""}
	case waggle.SandboxPermissionResponse:
		return Answer{Of: waggle.KindSandboxPermissionRequest, ID: waggle.RequestID(p.RequestID), Allow: p.Allow, Reason: p.Notes, Host: p.Host, More: p.Scope != "" && p.Scope != scopeOnce && p.Scope != "once"}
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
