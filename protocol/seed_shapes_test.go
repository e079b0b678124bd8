package protocol_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waggle/protocol"
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
	kinds := map[protocol.Kind]bool{}
	for _, shape := range seed000 {
		shape = strings.ReplaceAll(shape, "$T", payloadTime)
		for _, text := range []string{shape, shape[:len(shape)-1] + `,"teamName":"api","agentId":"w1@api","agentName":"w1"}`} {
			d := protocol.Decode(protocol.Envelope{From: "w1", Text: text, Timestamp: payloadTime})
			if d.Dialect != protocol.DialectCatalog && d.Kind != protocol.KindTaskProgress || len(d.Unread) > 0 || d.FromMismatch {
				t.Errorf("%s: dialect %q, unread %q, warnings %q", text, d.Dialect, d.Unread, d.Warnings)
				continue
			}
			kinds[d.Kind] = true
			// The shape alone, without an envelope to take the sender from, is written as it stands too.
			if alone, err := protocol.Encode(protocol.DecodeText(text).Payload, protocol.DialectCatalog); err != nil || alone != text {
				t.Errorf("%s without an envelope: %v\n%s", d.Kind, err, cmp.Diff(text, alone))
			}
			if got, err := protocol.Encode(d.Payload, protocol.DialectCatalog); err != nil || got != text {
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
		d := protocol.Decode(protocol.Envelope{From: "w1", Text: text, Timestamp: payloadTime})
		if d.Payload == nil || len(d.Unread) > 0 || len(d.Warnings) > 0 {
			t.Errorf("%s: %s, unread %q, warnings %q", text, d.Kind, d.Unread, d.Warnings)
			continue
		}
		got, err := protocol.Encode(d.Payload, protocol.DialectWire)
		if err != nil || got != want {
			t.Errorf("%s: %v\n%s", d.Kind, err, cmp.Diff(want, got))
		}
		if got, err := protocol.Encode(d.Payload, protocol.DialectProtocol); err != nil || got != text {
			t.Errorf("%s in its own dialect: %v\n%s", d.Kind, err, cmp.Diff(text, got))
		}
		again := protocol.Decode(protocol.Envelope{From: "w1", Text: got, Timestamp: payloadTime})
		if diff := cmp.Diff(d.Payload, again.Payload); diff != "" {
			t.Errorf("%s read again:\n%s", d.Kind, diff)
		}
	}
}

// The shapes of seeds 002 to 004 that have spellings of their own, with the values of their own examples.
var spelledShapes = []struct {
	dialect protocol.Dialect
	text    string
}{
	{protocol.DialectAPI, `{"type":"idle_notification","from":"w1","idleReason":"available","timestamp":"$T"}`},
	{protocol.DialectAPI, `{"type":"idle_notification","from":"w1","idleReason":"waiting_response","timestamp":"$T"}`},
	{protocol.DialectAPI, `{"type":"idle_notification","from":"w1","idleReason":"task_complete","timestamp":"$T"}`},
	{protocol.DialectAPI, `{"type":"shutdown_approved","requestId":"req-shutdown-abc123","paneId":"%88","backendType":"tmux","timestamp":"$T"}`},
	{protocol.DialectAPI, `{"type":"plan_approval_request","from":"w1","plan":"## Analysis Plan","summary":"Q4 analysis plan","timestamp":"$T","requestId":"plan-xyz789"}`},
	{protocol.DialectAPI, `{"type":"plan_approval_response","requestId":"plan-xyz789","approve":true,"feedback":"Looks good.","timestamp":"$T"}`},
	{protocol.DialectAPI, `{"type":"plan_approval_response","requestId":"plan-xyz789","approve":false,"feedback":"Skip it.","timestamp":"$T"}`},
	{protocol.DialectTool, `{"type":"plan_approval_response","request_id":"plan_approval_xxx","approve":true,"permissionMode":"default"}`},
	{protocol.DialectEarly, `{"type":"plan_approval_request","requestId":"p","from":"w1","plan":"the plan"}`},
	{protocol.DialectEarly, `{"type":"idle_notification","from":"w1","timestamp":"$T","idleReason":"available"}`},
	{protocol.DialectEarly, `{"type":"task_assignment","taskId":"1","subject":"Analyze","description":"...","assignedBy":"w1","timestamp":"$T"}`},
	{protocol.DialectEarly, `{"type":"shutdown_request","requestId":"shutdown-1770477661492@w1","from":"w1","reason":"Thank you!","timestamp":"$T"}`},
	{protocol.DialectEarly, `{"type":"permission_response","request_id":"p","approve":true}`},
	{protocol.DialectLegacy, `{"type":"shutdown_response","requestId":"shutdown-1770477661492@w1","approved":true}`},
	{protocol.DialectLegacy, `{"type":"shutdown_response","requestId":"shutdown-1770477661492@w1","approved":false,"content":"busy"}`},
}

// Each shape that a document spells in its own way is written in its dialect as it stood, and what is written
// there says nothing twice: no reader finds two decisions in it.
func TestSeedSpellings(t *testing.T) {
	for _, s := range spelledShapes {
		text := strings.ReplaceAll(s.text, "$T", payloadTime)
		d := protocol.Decode(protocol.Envelope{From: "w1", Text: text, Timestamp: payloadTime})
		if d.Payload == nil || len(d.Unread) > 0 {
			t.Errorf("%s: %s, unread %q, %q", text, d.Kind, d.Unread, d.Warnings)
			continue
		}
		if got, err := protocol.Encode(d.Payload, s.dialect); err != nil || got != text {
			t.Errorf("%s: %v\n%s", s.dialect, err, cmp.Diff(text, got))
		}
		for _, w := range d.Warnings {
			if strings.Contains(w, "more than once") || strings.Contains(w, "twice") {
				t.Errorf("%s: %s", text, w)
			}
		}
	}
}

// What a sender is taken to speak after a message: a form that several documents have changes nothing, and a
// request of mixed spelling is answered where its id is looked for.
func TestSpeaks(t *testing.T) {
	const (
		idle = `{"type":"idle_notification","from":"w1","timestamp":"$T","idleReason":"available"}`
		done = `{"type":"task_completed","from":"w1","taskId":"1","timestamp":"$T"}`
		plan = `{"type":"plan_approval_request","from":"w1","timestamp":"$T","planFilePath":"/p","planContent":"p","requestId":"r"}`
	)
	for _, c := range []struct {
		text         string
		before, want protocol.Dialect
	}{
		{"words", protocol.DialectAPI, protocol.DialectAPI},
		{idle, "", protocol.DialectWire},
		{idle, protocol.DialectAPI, protocol.DialectAPI},
		{idle, protocol.DialectProtocol, protocol.DialectProtocol},
		{idle, protocol.DialectCatalog, protocol.DialectWire},
		{done, protocol.DialectProtocol, protocol.DialectProtocol},
		{plan, protocol.DialectAPI, protocol.DialectWire},
		{plan, protocol.DialectProtocol, protocol.DialectProtocol},
		{`{"type":"idle_notification","timestamp":"$T","state":"idle"}`, protocol.DialectAPI, protocol.DialectCatalog},
		{`{"type":"shutdown_response","requestId":"r","approved":true}`, protocol.DialectAPI, protocol.DialectAPI},
		{`{"type":"permission_request","requestId":"r","agent_id":"w1","tool_name":"Bash","input":{}}`, "", protocol.DialectProtocol},
		{`{"type":"permission_request","requestId":"r","agent_id":"w1","tool":{"name":"Bash","arguments":"ls"},"timestamp":"$T"}`, "", protocol.DialectCatalog},
		{`{"type":"permission_request","request_id":"r","agentId":"w1","toolName":"Bash","toolUseId":"u","input":{}}`, protocol.DialectCatalog, protocol.DialectWire},
		{`{"type":"plan_approval_request","from":"w1","planContent":"p","request_id":"r"}`, "", protocol.DialectTool},
		{`{"type":"plan_approval_request","from":"w1","planContent":"p","summary":"s","requestId":"r"}`, "", protocol.DialectWire},
		{`{"type":"sandbox_permission_request","requestID":"r","host":"h"}`, protocol.DialectCatalog, protocol.DialectWire},
	} {
		d := protocol.Decode(protocol.Envelope{From: "w1", Text: strings.ReplaceAll(c.text, "$T", payloadTime), Timestamp: payloadTime})
		if got := d.Speaks(c.before); got != c.want {
			t.Errorf("%s\nafter %q: %q, want %q (%s, %q)", c.text, c.before, got, c.want, d.Dialect, d.Spellings)
		}
	}
}
