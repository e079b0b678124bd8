package waggle_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waggle"
)

// The shapes of seed 000 with the values of its own examples; where it lists
// alternatives, one of them.
var seed000 = []string{
	`{"type":"task_assignment","requestId":"task-123","timestamp":"$T","task":{"title":"Short label","instructions":"What to do","context":"Optional extra context","planModeRequired":true}}`,
	`{"type":"task_progress","requestId":"task-123","timestamp":"$T","progress":{"phase":"analyzing","message":"Human-readable progress update"}}`,
	`{"type":"task_completed","requestId":"task-123","timestamp":"$T","result":{"summary":"What changed","artifacts":["optional references"],"errors":[]}}`,
	`{"type":"idle_notification","timestamp":"$T","state":"idle"}`,
	`{"type":"plan_approval_request","requestId":"plan-456","timestamp":"$T","plan":{"goal":"What will be done","steps":["step 1","step 2"],"risks":["what could go wrong"],"tooling":["tools expected to be used"]}}`,
	`{"type":"plan_approval_response","requestId":"plan-456","timestamp":"$T","approved":true,"notes":"Optional reviewer notes","policy":{"permissionMode":"default"}}`,
	`{"type":"permission_request","requestId":"perm-789","timestamp":"$T","tool":{"name":"Bash","arguments":"redacted or summarized"},"reason":"Why this tool is needed"}`,
	`{"type":"permission_response","requestId":"perm-789","timestamp":"$T","approved":true,"mode":"default","notes":"Optional reason or instruction"}`,
	`{"type":"sandbox_permission_request","requestId":"net-101","timestamp":"$T","capability":"network","details":{"hostnames":["example.com"],"reason":"Why network is needed"}}`,
	`{"type":"sandbox_permission_response","requestId":"net-101","timestamp":"$T","approved":true,"scope":"session","notes":"Optional"}`,
	`{"type":"mode_set_request","timestamp":"$T","mode":"default","policy":{"permissionMode":"default"}}`,
	`{"type":"team_permission_update","timestamp":"$T","rules":{"allowedTools":["Bash(git:*)","Read","Edit"],"disallowedTools":["Bash(rm -rf:*)"]}}`,
	`{"type":"shutdown_request","requestId":"shutdown-1","timestamp":"$T","reason":"Optional"}`,
	`{"type":"shutdown_approved","requestId":"shutdown-1","timestamp":"$T"}`,
	`{"type":"shutdown_rejected","requestId":"shutdown-1","timestamp":"$T","reason":"Optional"}`,
}

// Each of the fifteen shapes is read as the catalog's, and written again as it stood,
// with and without the routing fields that the document wants everywhere.
func TestSeed000(t *testing.T) {
	kinds := map[waggle.Kind]bool{}
	for _, shape := range seed000 {
		shape = strings.ReplaceAll(shape, "$T", payloadTime)
		for _, text := range []string{shape, shape[:len(shape)-1] + `,"teamName":"api","agentId":"w1@api","agentName":"w1"}`} {
			d := waggle.Decode(waggle.Envelope{From: "w1", Text: text, Timestamp: payloadTime})
			if d.Dialect != waggle.DialectCatalog && d.Kind != waggle.KindTaskProgress || len(d.Unread) > 0 || d.FromMismatch {
				t.Errorf("%s: dialect %q, unread %q, warnings %q", text, d.Dialect, d.Unread, d.Warnings)
				continue
			}
			kinds[d.Kind] = true
			if got, err := waggle.Encode(d.Payload, waggle.DialectCatalog); err != nil || got != text {
				t.Errorf("%s: %v\n%s", d.Kind, err, cmp.Diff(text, got))
			}
		}
	}
	if len(kinds) != 15 {
		t.Errorf("%d kinds, want 15", len(kinds))
	}
}

// The shapes of seed 001 with the values of its own examples, and how the wire writes
// them where that is another spelling.
var seed001 = []struct{ text, wire string }{
	{`{"type":"permission_request","requestId":"req_123","agentId":"w1","toolName":"Bash","toolUseId":"toolu_abc","description":"Why the tool is needed","input":{"any":"json"},"permissionSuggestions":[]}`,
		`{"type":"permission_request","request_id":"req_123","agent_id":"w1","tool_name":"Bash","tool_use_id":"toolu_abc","description":"Why the tool is needed","input":{"any":"json"},"permission_suggestions":[]}`},
	{`{"type":"permission_response","requestId":"req_123","subtype":"success","response":{"updatedInput":{"any":"json"},"permissionUpdates":[{"any":"json"}]}}`,
		`{"type":"permission_response","request_id":"req_123","subtype":"success","response":{"updated_input":{"any":"json"},"permission_updates":[{"any":"json"}]}}`},
	{`{"type":"permission_response","requestId":"req_123","subtype":"error","error":"Permission denied"}`,
		`{"type":"permission_response","request_id":"req_123","subtype":"error","error":"Permission denied"}`},
	{`{"type":"sandbox_permission_request","requestId":"sb_123","workerId":"w1","workerName":"w1","workerColor":"cyan","hostPattern":{"host":"example.com"},"createdAt":0}`, ""},
	{`{"type":"sandbox_permission_response","requestId":"sb_123","host":"example.com","allow":true,"timestamp":"$T"}`, ""},
	{`{"type":"plan_approval_request","from":"w1","timestamp":"$T","planFilePath":"/abs/path/to/PLAN.md","planContent":"markdown plan contents","requestId":"plan_123"}`, ""},
	{`{"type":"plan_approval_response","requestId":"plan_123","approved":true,"timestamp":"$T","permissionMode":"default"}`, ""},
	{`{"type":"plan_approval_response","requestId":"plan_123","approved":false,"feedback":"Need to handle the empty input case","timestamp":"$T"}`, ""},
	{`{"type":"shutdown_request","requestId":"shutdown_456","from":"w1","reason":"Task completed","timestamp":"$T"}`, ""},
	{`{"type":"shutdown_approved","requestId":"shutdown_456","from":"w1","timestamp":"$T","paneId":"optional","backendType":"optional"}`, ""},
	{`{"type":"shutdown_rejected","requestId":"shutdown_456","from":"w1","reason":"Still working","timestamp":"$T"}`, ""},
	{`{"type":"mode_set_request","mode":"acceptEdits","from":"w1"}`, ""},
	{`{"type":"team_permission_update","toolName":"Bash","directoryPath":"/abs/path","permissionUpdate":{"behavior":"allow","rules":[{"toolName":"Bash","ruleContent":"git:*"}]}}`, ""},
	{`{"type":"idle_notification","from":"w1","timestamp":"$T","idleReason":"available","summary":"optional","completedTaskId":"optional","completedStatus":"resolved","failureReason":"optional"}`, ""},
	{`{"type":"task_assignment","taskId":"task_123","subject":"Fix the failing build","description":"Details...","assignedBy":"w1","timestamp":"$T"}`, ""},
	{`{"type":"task_completed","from":"w1","taskId":"task_123","taskSubject":"Fix the failing build","timestamp":"$T"}`, ""},
}

// Each shape of seed 001 is read and written in the form of the wire, and the written text says the
// same when it is read again.
func TestSeed001(t *testing.T) {
	for _, s := range seed001 {
		text := strings.ReplaceAll(s.text, "$T", payloadTime)
		want := strings.ReplaceAll(s.wire, "$T", payloadTime)
		if want == "" {
			want = text
		}
		d := waggle.Decode(waggle.Envelope{From: "w1", Text: text, Timestamp: payloadTime})
		if d.Payload == nil || len(d.Unread) > 0 || len(d.Warnings) > 0 {
			t.Errorf("%s: %s, unread %q, warnings %q", text, d.Kind, d.Unread, d.Warnings)
			continue
		}
		got, err := waggle.Encode(d.Payload, waggle.DialectWire)
		if err != nil || got != want {
			t.Errorf("%s: %v\n%s", d.Kind, err, cmp.Diff(want, got))
		}
		again := waggle.Decode(waggle.Envelope{From: "w1", Text: got, Timestamp: payloadTime})
		if diff := cmp.Diff(d.Payload, again.Payload); diff != "" {
			t.Errorf("%s read again:\n%s", d.Kind, diff)
		}
	}
}
