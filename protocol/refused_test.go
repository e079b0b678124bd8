package protocol_test

import (
	"testing"

	"waggle/protocol"
)

// TestRefused: of a request that is invalid, what could be read is kept when its id is beyond doubt, so that it can be denied in
// the spelling in which it was asked; of any other message nothing is.
func TestRefused(t *testing.T) {
	for text, want := range map[string]struct {
		kind    protocol.Kind
		dialect protocol.Dialect
	}{
		`{"type":"permission_request","requestId":"r","agentId":"w1","toolName":"Bash","tool_name":"Read","toolUseId":"u","input":{}}`:  {protocol.KindPermissionRequest, protocol.DialectProtocol},
		`{"type":"permission_request","requestId":"r","requestId":"r","timestamp":"t","tool":{"name":"Bash","arguments":"x"}}`:          {protocol.KindPermissionRequest, protocol.DialectCatalog},
		`{"type":"permission_request","request_id":"r","agent_id":"w1","tool_name":"Bash","tool_use_id":"u","input":[]}`:                {protocol.KindPermissionRequest, protocol.DialectWire},
		`{"type":"sandbox_permission_request","requestId":"r","workerId":"w1","workerName":"w1","hostPattern":{"host":"a"},"host":"b"}`: {protocol.KindSandboxPermissionRequest, protocol.DialectWire},
		`{"type":"plan_approval_request","from":"w1","summary":"s","requestId":"r"}`:                                                    {protocol.KindPlanApprovalRequest, protocol.DialectAPI},

		`{"type":"permission_request","tool_name":"Bash","input":{}}`:                                   {},
		`{"type":"permission_request","requestId":"r","request_id":"s","tool_name":"Bash","input":{}}`:  {},
		`{"type":"permission_request","requestId":7,"tool_name":"Bash","input":{}}`:                     {},
		`{"type":"permission_request","requestId":"","tool_name":"Bash","input":{}}`:                    {},
		`{"type":"permission_request","requestId":"r","tool_name":"Bash","input":{}}`:                   {}, // valid
		`{"type":"permission_response","requestId":"r"}`:                                                {},
		`{"type":"shutdown_request","requestId":"r","from":7}`:                                          {},
		`{"type":"permission_request","type":"plan_approval_request","requestId":"r","tool_name":"Ls"}`: {},
	} {
		d := protocol.Decode(protocol.Envelope{From: "w1", Text: text})
		if want.kind == "" {
			if d.Refused != nil {
				t.Errorf("%s is kept: %+v", text, d.Refused)
			}
			continue
		}
		if d.Kind != protocol.KindInvalid || d.Payload != nil || d.Refused == nil || d.Refused.Kind() != want.kind {
			t.Errorf("%s is %+v", text, d)
			continue
		}
		if id, _ := protocol.RequestIDOf(d.Refused); id != "r" || d.Speaks("") != want.dialect {
			t.Errorf("%s has the id %q, answered as %q", text, id, d.Speaks(""))
		}
	}
}
