package protocol_test

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"waggle/internal/test/protocoltest"
	"waggle/internal/test/testenv"
	"waggle/protocol"
)

// TestEncodedBytes pins the one byte form of every kind in every dialect that
// has one of its own: testdata/encode.txtar.
func TestEncodedBytes(t *testing.T) {
	const file = "testdata/encode.txtar"
	archive, err := txtar.ParseFile(file)
	if err != nil && !*update {
		t.Fatal(err)
	}
	want := make(map[string]string)
	if archive != nil {
		for _, f := range archive.Files {
			want[f.Name] = string(f.Data)
		}
	}
	out := &txtar.Archive{Comment: []byte("The samples of every kind as they are written, and why not.\nWrite them anew with: go test ./protocol -run TestEncodedBytes -update\n")}
	for _, p := range protocoltest.Samples() {
		for _, dialect := range protocol.Dialects() {
			if dialect != protocol.DialectCatalog && dialect.For(p.Kind()) != dialect {
				continue
			}
			name := string(p.Kind()) + "." + string(dialect)
			got, err := protocol.Encode(p, dialect)
			if err != nil {
				got = "error: " + err.Error()
			}
			got += "\n"
			if diff := cmp.Diff(want[name], got); diff != "" && !*update {
				t.Errorf("%s (-want +got)\n%s", name, diff)
			}
			out.Files = append(out.Files, txtar.File{Name: name, Data: []byte(got)})
		}
	}
	if *update {
		testenv.Must(t, os.WriteFile(file, txtar.Format(out), 0o666))
	}
}

// TestEncodePermissionResponse: Encode writes the fields that a worker requires (protocol §1.2).
func TestEncodePermissionResponse(t *testing.T) {
	for _, tc := range []struct {
		name string
		p    protocol.PermissionResponse
		want string
	}{
		{"no response", protocol.PermissionResponse{RequestID: "r", Subtype: "success"},
			`{"type":"permission_response","request_id":"r","subtype":"success","response":{"updated_input":{}}}`},
		{"null input", protocol.PermissionResponse{RequestID: "r", Subtype: "success", ToolUseID: "u", Response: &protocol.PermissionGranted{UpdatedInput: raw("null")}},
			`{"type":"permission_response","request_id":"r","subtype":"success","tool_use_id":"u","response":{"updated_input":{}}}`},
		{"input keeps its bytes", protocol.PermissionResponse{RequestID: "r", Subtype: "success", Response: &protocol.PermissionGranted{UpdatedInput: raw(`{ "n": 1.0 }`)}},
			`{"type":"permission_response","request_id":"r","subtype":"success","response":{"updated_input":{ "n": 1.0 }}}`},
		{"what is read only is left out", protocol.PermissionResponse{RequestID: "r", Subtype: "success", ApprovedRequest: raw(`{"a":1}`), Mode: "plan"},
			`{"type":"permission_response","request_id":"r","subtype":"success","response":{"updated_input":{}}}`},
		{"denied without words", protocol.PermissionResponse{RequestID: "r", Subtype: "error"},
			`{"type":"permission_response","request_id":"r","subtype":"error","error":""}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := protocol.Encode(tc.p, protocol.DialectWire)
			if err != nil || got != tc.want {
				t.Errorf("%v\n%s", err, cmp.Diff(tc.want, got))
			}
			if d := protocol.DecodeText(got); yes(d.Payload) != tc.p.Allowed() || len(d.Warnings) > 0 {
				t.Errorf("read as %s %q", outcome(d), d.Warnings)
			}
		})
	}
}

// TestEncodeEmptyLists: lists that the wire always has are never null.
func TestEncodeEmptyLists(t *testing.T) {
	for _, tc := range []struct {
		p    protocol.Payload
		want string
	}{
		{protocol.PermissionRequest{RequestID: "r", AgentID: "w1", ToolName: "Bash", Input: raw("{}")}, `"permission_suggestions":[]`},
		{protocol.TeamPermissionUpdate{PermissionUpdate: protocol.PermissionUpdate{Behavior: "deny"}}, `"rules":[]`},
		{protocol.TaskCompleted{From: "w1", TaskID: "1", Timestamp: payloadTime, Result: &protocol.TaskResult{}}, `"artifacts":[],"errors":[]`},
		{protocol.SandboxPermissionRequest{RequestID: "r", WorkerID: "w1", WorkerName: "w1", HostPattern: protocol.HostPattern{Host: "h"}}, `"createdAt":0}`},
		{protocol.PlanApprovalResponse{RequestID: "r", Timestamp: payloadTime, PermissionMode: "plan", PlanDigest: "00"}, `"approved":false,"timestamp":"` + payloadTime + `"}`},
	} {
		got, err := protocol.Encode(tc.p, protocol.DialectWire)
		if err != nil || !strings.Contains(got, tc.want) {
			t.Errorf("%s, %v: want %s", got, err, tc.want)
		}
	}
}

func TestEncodeDialects(t *testing.T) {
	for _, d := range []protocol.Dialect{protocol.DialectNone, protocol.DialectAPI, protocol.DialectTool, protocol.DialectLegacy, protocol.DialectMixed, "x"} {
		if got, err := protocol.Encode(protocoltest.Sample(protocol.KindShutdownRequest), d); err == nil {
			t.Errorf("%q writes %s", d, got)
		}
		if got, err := protocol.Encode(protocol.Text{Text: "hi"}, d); err != nil || got != "hi" {
			t.Errorf("text in %q: %s, %v", d, got, err)
		}
	}
	for _, p := range []protocol.Payload{
		protocol.IdleNotification{From: "w", Timestamp: payloadTime, IdleReason: "failed"},
		protocol.PermissionResponse{RequestID: "r", Subtype: "success", Response: &protocol.PermissionGranted{UpdatedInput: raw(`{"a":1}`)}},
		protocol.TeamPermissionUpdate{DirectoryPath: "/d", PermissionUpdate: protocol.PermissionUpdate{Behavior: "allow"}},
		protocol.TeamPermissionUpdate{PermissionUpdate: protocol.PermissionUpdate{Behavior: "ask"}},
		protocol.TeamPermissionUpdate{PermissionUpdate: protocol.PermissionUpdate{Behavior: "deny", Rules: []protocol.PermissionRule{{ToolName: "a(b"}}}},
		protocol.TeammateTerminated{Message: "m"},
		protocol.JoinApproved{RequestID: "r"},
	} {
		if got, err := protocol.Encode(p, protocol.DialectCatalog); err == nil {
			t.Errorf("the catalog form loses something: %s", got)
		}
	}
	changed := protocol.PermissionResponse{RequestID: "r", Subtype: "success", Response: &protocol.PermissionGranted{UpdatedInput: raw(`{"a":1}`)}}
	for _, d := range []protocol.Dialect{protocol.DialectEarly, protocol.DialectTool} {
		if got, err := protocol.Encode(changed, d); err == nil {
			t.Errorf("the %s form loses the input: %s", d, got)
		}
	}
	if got, err := protocol.Encode(protocol.IdleNotification{From: "w", Timestamp: payloadTime, IdleReason: "task_complete"}, protocol.DialectWire); err == nil {
		t.Errorf("the wire has a reason of seed 002: %s", got)
	}
}

// TestCarrying: seed 002's request to shut down stands in the envelope, and is read back from there. Words
// that would be read as a frame are refused.
func TestCarrying(t *testing.T) {
	p := protocol.ShutdownRequest{RequestID: "req-shutdown-abc123", From: "coordinator", Reason: "Analysis complete.", Timestamp: payloadTime}
	e := protocol.Envelope{From: "coordinator", Timestamp: payloadTime, Color: "yellow"}
	got, err := e.Carrying(p, protocol.DialectAPI)
	testenv.Must(t, err)
	const want = `{"from":"coordinator","text":"Analysis complete.","summary":"Shutdown request","timestamp":"` + payloadTime +
		`","color":"yellow","type":"shutdown_request","metadata":{"request_id":"req-shutdown-abc123"},"read":false}`
	if text, err := got.MarshalJSON(); err != nil || string(text) != want {
		t.Errorf("%v %s", err, cmp.Diff(want, string(text)))
	}
	if d := protocol.Decode(got); d.Dialect != protocol.DialectAPI || !cmp.Equal(d.Payload, protocol.Payload(p)) {
		t.Errorf("read as %s %+v, %q", d.Dialect, d.Payload, d.Warnings)
	}
	p.Reason = `{"type":"mode_set_request","mode":"plan"}`
	if got, err := e.Carrying(p, protocol.DialectAPI); err == nil {
		t.Errorf("a frame is its prose: %s", got.AppendJSON(nil))
	}
	p.Reason, p.RequestID = "", ""
	if got, err := e.Carrying(p, protocol.DialectAPI); err == nil {
		t.Errorf("it has no id: %s", got.AppendJSON(nil))
	}
}

func TestValidate(t *testing.T) {
	with := func(k protocol.Kind, change func(p any)) protocol.Payload {
		switch p := protocoltest.Sample(k).(type) {
		case protocol.PermissionRequest:
			change(&p)
			return p
		case protocol.PermissionResponse:
			change(&p)
			return p
		case protocol.SandboxPermissionRequest:
			change(&p)
			return p
		case protocol.TeamPermissionUpdate:
			change(&p)
			return p
		}
		panic(k)
	}
	request := func(change func(*protocol.PermissionRequest)) protocol.Payload {
		return with(protocol.KindPermissionRequest, func(p any) { change(p.(*protocol.PermissionRequest)) })
	}
	response := func(change func(*protocol.PermissionResponse)) protocol.Payload {
		return with(protocol.KindPermissionResponse, func(p any) { change(p.(*protocol.PermissionResponse)) })
	}
	sandbox := func(change func(*protocol.SandboxPermissionRequest)) protocol.Payload {
		return with(protocol.KindSandboxPermissionRequest, func(p any) { change(p.(*protocol.SandboxPermissionRequest)) })
	}
	update := func(change func(*protocol.TeamPermissionUpdate)) protocol.Payload {
		return with(protocol.KindTeamPermissionUpdate, func(p any) { change(p.(*protocol.TeamPermissionUpdate)) })
	}
	for _, tc := range []struct {
		p    protocol.Payload
		want string
	}{
		{request(func(p *protocol.PermissionRequest) { p.RequestID = "" }), "request_id is missing"},
		{request(func(p *protocol.PermissionRequest) { p.RequestID = "\xff" }), "not valid UTF-8"},
		{request(func(p *protocol.PermissionRequest) { p.AgentID = "w1@ours" }), "bare member name"},
		{request(func(p *protocol.PermissionRequest) { p.ToolName = "" }), "tool_name is missing"},
		{request(func(p *protocol.PermissionRequest) { p.Input = nil }), "input is not valid JSON"},
		{request(func(p *protocol.PermissionRequest) { p.Input = raw(`[]`) }), "input is not a JSON object"},
		{request(func(p *protocol.PermissionRequest) { p.Input = raw(`{"a":1,"a":2}`) }), `input: key "a" occurs twice`},
		{request(func(p *protocol.PermissionRequest) { p.Input = raw(`{"a":"\ud800"}`) }), "surrogate"},
		{request(func(p *protocol.PermissionRequest) { p.PermissionSuggestions = []json.RawMessage{raw(`}`)} }), "permission_suggestions[0] is not valid JSON"},
		{response(func(p *protocol.PermissionResponse) { p.Subtype = "" }), "subtype"},
		{response(func(p *protocol.PermissionResponse) { p.Error = "no" }), "error goes with"},
		{response(func(p *protocol.PermissionResponse) { p.Subtype = "error" }), "response goes with"},
		{response(func(p *protocol.PermissionResponse) { p.Response.UpdatedInput = raw(`"x"`) }), "response.updated_input is not a JSON object"},
		{sandbox(func(p *protocol.SandboxPermissionRequest) { p.Hosts = []string{"a", "b"} }), "one request for each host"},
		{sandbox(func(p *protocol.SandboxPermissionRequest) { p.Capability = "filesystem" }), "capability"},
		{sandbox(func(p *protocol.SandboxPermissionRequest) { p.HostPattern.Host = "" }), "hostPattern.host is missing"},
		{sandbox(func(p *protocol.SandboxPermissionRequest) { p.CreatedAt = -1 }), "createdAt"},
		{update(func(p *protocol.TeamPermissionUpdate) { p.AlsoDeny = &protocol.PermissionUpdate{} }), "alsoDeny"},
		{update(func(p *protocol.TeamPermissionUpdate) { p.PermissionUpdate.Behavior = "permit" }), "behavior"},
		{update(func(p *protocol.TeamPermissionUpdate) { p.PermissionUpdate.Rules[0].ToolName = "" }), "rules[0].toolName is missing"},
		{protocol.ShutdownRequest{}, "requestId is missing; from is missing; timestamp"},
		{protocol.IdleNotification{From: "w", Timestamp: payloadTime, IdleReason: "coffee"}, "idleReason"},
		{protocol.IdleNotification{From: "w", Timestamp: payloadTime, IdleReason: "available", CompletedStatus: "completed"}, "completedStatus"},
		{protocol.TaskProgress{RequestID: "1", Timestamp: payloadTime, Progress: protocol.Progress{Phase: "resting"}}, "phase"},
		{protocol.TaskAssignment{TaskID: "1", AssignedBy: "l", Timestamp: "yesterday"}, "not an ISO 8601 time"},
		{protocol.ModeSetRequest{From: "team-lead"}, "mode is missing"},
		{protocol.PlanApprovalRequest{From: "w", RequestID: "r", Timestamp: payloadTime}, "planContent is missing"},
		{protocol.Text{Text: ` {"type":"permission_response","request_id":"r","subtype":"success"}`}, "would be read as a permission_response"},
		{protocol.Text{Text: `{"type":"shutdown_request"}`}, "cannot be read"},
		{protocol.Text{Text: strings.Repeat("x", protocol.MaxText+1)}, "longer than"},
		{protocol.SystemInit{Text: `{"type":"mode_set_request","mode":"plan"}`}, "would be read as"},
		{protocol.Unknown{Type: "x", Raw: raw(`{"type":"y"}`)}, "not a frame of the unknown type"},
		{protocol.Unknown{Type: "mode_set_request", Raw: raw(`{"type":"mode_set_request","mode":"plan"}`)}, "not a frame of the unknown type"},
	} {
		err := protocol.Validate(tc.p)
		var payload *protocol.PayloadError
		if !errors.As(err, &payload) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %v, want %q", tc.p, err, tc.want)
		}
		if text, err := protocol.Encode(tc.p, protocol.DialectWire); err == nil {
			t.Errorf("%+v is written as %s", tc.p, text)
		}
	}
	for _, p := range protocoltest.Samples() {
		if err := protocol.Validate(p); err != nil {
			t.Error(err)
		}
	}
	if err := protocol.Validate(protocol.Text{Text: `{"type":"lunch_request"}`}); err != nil {
		t.Errorf("text that looks like an unknown frame is refused: %v", err)
	}
}

// TestEncodeLimits: Encode refuses a payload that Decode would not read.
func TestEncodeLimits(t *testing.T) {
	deep := strings.Repeat(`{"a":`, protocol.MaxDepth) + "1" + strings.Repeat("}", protocol.MaxDepth)
	for name, p := range map[string]protocol.Payload{
		"long": protocol.TeammateTerminated{Message: strings.Repeat("\x01", protocol.MaxText/6)},
		"deep": protocol.PermissionRequest{RequestID: "r", AgentID: "w", ToolName: "t", Input: raw(deep)},
		"wide": protocol.PermissionRequest{RequestID: "r", AgentID: "w", ToolName: "t", Input: raw(manyKeys(protocol.MaxKeys))},
	} {
		if _, err := protocol.Encode(p, protocol.DialectWire); err == nil || !strings.Contains(err.Error(), "larger than") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func manyKeys(n int) string {
	var b strings.Builder
	b.WriteString(`{"k":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`{"k":1}`)
	}
	b.WriteString(`]}`)
	return b.String()
}
