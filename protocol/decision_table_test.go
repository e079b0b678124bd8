package protocol_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waggle/protocol"
)

const (
	payloadTime  = "2026-11-20T18:15:43.000Z"
	envelopeTime = "2026-11-20T18:15:44.500Z"
)

// row is one line of the decision table: what stands in an envelope and what it
// must be read as.
type row struct {
	name string
	// text is the payload; $T stands for a time. A worker's kinds come from w1,
	// the lead's from team-lead, unless from says otherwise; "-" is nobody.
	text string
	from string
	// entry, when set, is the whole stored entry instead.
	entry string
	// want is allow, deny, invalid, text, unknown, or the kind.
	want    string
	dialect protocol.Dialect
	payload protocol.Payload // when set, exactly this
	// warn must occur in a warning; "" means no warning at all, "*" any number.
	warn     string
	mismatch bool
}

// TestDecisionTable goes through every row of every field table of protocol §1: each
// spelling of each field, and what happens when they meet.
func TestDecisionTable(t *testing.T) {
	sections := []struct {
		name string
		from string
		rows []row
	}{
		{"1.0 all types", "w1", readRuleRows},
		{"1.1 permission_request", "w1", permissionRequestRows},
		{"1.2 permission_response", "team-lead", permissionResponseRows},
		{"1.3 sandbox_permission_request", "w1", sandboxRequestRows},
		{"1.4 sandbox_permission_response", "team-lead", sandboxResponseRows},
		{"1.5 plan_approval_request", "w1", planRequestRows},
		{"1.6 plan_approval_response", "team-lead", planResponseRows},
		{"1.7 mode_set_request", "team-lead", modeRows},
		{"1.8 team_permission_update", "team-lead", teamUpdateRows},
		{"1.9 shutdown_request", "team-lead", shutdownRequestRows},
		{"1.10-11 shutdown answers", "w1", shutdownAnswerRows},
		{"1.12 idle_notification", "w1", idleRows},
		{"1.13-16 tasks and notices", "w1", taskRows},
		{"1.17 legacy", "w1", legacyRows},
		{"1.18 text", "w1", textRows},
	}
	for _, section := range sections {
		t.Run(section.name, func(t *testing.T) {
			names := make(map[string]bool)
			for _, r := range section.rows {
				if names[r.name] {
					t.Errorf("two rows are called %q", r.name)
				}
				names[r.name] = true
				if r.from == "" {
					r.from = section.from
				}
				t.Run(r.name, func(t *testing.T) { checkRow(t, r) })
			}
		})
	}
}

func checkRow(t *testing.T, r row) {
	t.Helper()
	e := protocol.Envelope{From: strings.TrimPrefix(r.from, "-"), Timestamp: envelopeTime, Text: expand(r.text)}
	if r.entry != "" {
		var err error
		if e, err = protocol.ParseEnvelope([]byte(expand(r.entry))); err != nil {
			t.Fatal(err)
		}
	}
	d := protocol.Decode(e)
	if got := outcome(d); got != r.want {
		t.Errorf("read as %s, want %s; %+v %q", got, r.want, d.Payload, d.Warnings)
	}
	if d.Dialect != r.dialect {
		t.Errorf("dialect %q, want %q", d.Dialect, r.dialect)
	}
	if d.FromMismatch != r.mismatch {
		t.Errorf("FromMismatch %v, want %v", d.FromMismatch, r.mismatch)
	}
	if r.payload != nil {
		if diff := cmp.Diff(r.payload, d.Payload); diff != "" {
			t.Errorf("payload (-want +got)\n%s", diff)
		}
	}
	contains := func(w string) bool { return strings.Contains(w, r.warn) }
	switch {
	case r.warn == "*":
	case r.warn == "" && d.Kind != protocol.KindInvalid && len(d.Warnings) > 0:
		t.Errorf("warnings %q, want none", d.Warnings)
	case d.Kind == protocol.KindInvalid && len(d.Warnings) == 0:
		t.Errorf("invalid without a reason")
	case r.warn != "" && !slices.ContainsFunc(d.Warnings, contains):
		t.Errorf("warnings %q, want one with %q", d.Warnings, r.warn)
	}
	if (d.Kind == protocol.KindInvalid) != (d.Payload == nil) {
		t.Errorf("kind %s with payload %v", d.Kind, d.Payload)
	}
	if _, err := json.Marshal(d); err != nil {
		t.Errorf("MarshalJSON: %v", err)
	}
}

func expand(s string) string { return strings.ReplaceAll(s, "$T", payloadTime) }

// outcome names what a payload comes to, in the words of the table.
func outcome(d protocol.Decoded) string {
	switch d.Kind {
	case protocol.KindPermissionResponse, protocol.KindSandboxPermissionResponse, protocol.KindPlanApprovalResponse,
		protocol.KindShutdownApproved, protocol.KindShutdownRejected:
		if yes(d.Payload) {
			return "allow"
		}
		return "deny"
	}
	return string(d.Kind)
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// readRuleRows: the global read rule (protocol §1.0) and trust §2.
var readRuleRows = []row{
	{name: "leading white space and BOM", text: "\ufeff \r\n\t\u00a0{\"type\":\"teammate_terminated\",\"message\":\"m\"}", want: "teammate_terminated", dialect: protocol.DialectWire},
	{name: "trailing white space", text: "{\"type\":\"teammate_terminated\",\"message\":\"m\"} \n", want: "teammate_terminated", dialect: protocol.DialectWire},
	{name: "white space inside", text: "{ \"type\" :\n\"teammate_terminated\" , \"message\":\"m\" }", want: "teammate_terminated", dialect: protocol.DialectWire},
	{name: "escaped key and type", text: `{"\u0074ype":"teammate\u005fterminated","message":"m"}`, want: "teammate_terminated", dialect: protocol.DialectWire},
	{name: "prose", text: `please approve`, want: "text"},
	{name: "array of frames", text: `[{"type":"permission_response","request_id":"r","subtype":"success"}]`, want: "text"},
	{name: "JSON string of a frame", text: `"{\"type\":\"permission_response\"}"`, want: "text"},
	{name: "no type", text: `{"request_id":"r","subtype":"success"}`, want: "text"},
	{name: "type is a number", text: `{"type":1,"request_id":"r","subtype":"success"}`, want: "text"},
	{name: "type is null", text: `{"type":null,"subtype":"success"}`, want: "text"},
	{name: "type in another case", text: `{"Type":"permission_response","request_id":"r","subtype":"success"}`, want: "text"},
	{name: "type further in", text: `{"payload":{"type":"permission_response","request_id":"r","subtype":"success"}}`, want: "text"},
	{name: "broken JSON", text: `{"type":"permission_response","request_id":"r","subtype":"success"`, want: "text"},
	{name: "two values", text: `{"type":"shutdown_request"}{"type":"shutdown_request"}`, want: "text"},
	{name: "trailing comma", text: `{"type":"shutdown_request","requestId":"r",}`, want: "text"},
	{name: "comment", text: `{"type":"shutdown_request",/**/"requestId":"r"}`, want: "text"},
	{name: "single quotes", text: `{'type':'shutdown_request'}`, want: "text"},
	{name: "raw newline in a string", text: "{\"type\":\"shutdown_request\",\"requestId\":\"r\n\"}", want: "text"},
	{name: "unknown type", text: `{"type":"mode_get_request","mode":"plan"}`, want: "unknown",
		payload: protocol.Unknown{Type: "mode_get_request", Raw: raw(`{"type":"mode_get_request","mode":"plan"}`)}},
	{name: "known type in another case", text: `{"type":"Shutdown_Request","requestId":"r"}`, want: "unknown"},
	{name: "known type with a space", text: `{"type":"shutdown_request ","requestId":"r"}`, want: "unknown"},
	{name: "empty type", text: `{"type":""}`, want: "unknown"},
	{name: "type text", text: `{"type":"text","text":"hello"}`, want: "unknown"},
	{name: "type invalid", text: `{"type":"invalid"}`, want: "unknown"},
	{name: "system_init is no payload", text: `{"type":"system_init","text":"x"}`, want: "unknown"},
	{name: "unknown type, a key twice", text: `{"type":"x","a":1,"a":1}`, want: "invalid", warn: "twice"},

	{name: "two types, one known, last", text: `{"type":"chat","type":"shutdown_request","requestId":"r","from":"w1","timestamp":"$T"}`, want: "invalid", warn: "twice"},
	{name: "two types, one known, first", text: `{"type":"shutdown_request","type":"chat","requestId":"r"}`, want: "invalid", warn: "twice"},
	{name: "two types, the other no string", text: `{"type":7,"type":"shutdown_request","requestId":"r"}`, want: "invalid", warn: "twice"},
	{name: "two types, both known", text: `{"type":"permission_response","type":"idle_notification","request_id":"r","subtype":"success"}`, want: "invalid", warn: "two different types"},
	{name: "two types, one a decision", text: `{"type":"chat","type":"permission_response","request_id":"r","subtype":"success"}`, from: "team-lead", want: "deny", dialect: protocol.DialectWire, warn: "twice"},
	{name: "two types, neither known", text: `{"type":"a","type":"b"}`, want: "invalid", warn: "twice"},
	{name: "two types, neither a string", text: `{"type":1,"type":2}`, want: "text"},

	{name: "key twice, no decision", text: `{"type":"shutdown_request","requestId":"r","requestId":"r","from":"w1","timestamp":"$T"}`, want: "invalid", warn: "twice"},
	{name: "key twice far down", text: `{"type":"permission_request","request_id":"r","agent_id":"w1","tool_name":"Bash","tool_use_id":"u","description":"d","input":{"a":[{"b":1,"\u0062":2}]},"permission_suggestions":[]}`, want: "invalid", warn: "twice"},
	{name: "bad UTF-8", text: "{\"type\":\"shutdown_request\",\"requestId\":\"r\",\"from\":\"w1\",\"reason\":\"\xff\",\"timestamp\":\"$T\"}", want: "invalid", warn: "UTF-8"},
	{name: "lone high surrogate", text: `{"type":"shutdown_request","requestId":"r","from":"w1","reason":"\ud800","timestamp":"$T"}`, want: "invalid", warn: "surrogate"},
	{name: "lone low surrogate", text: `{"type":"shutdown_request","requestId":"r","from":"w1","reason":"\udc00\ud800","timestamp":"$T"}`, want: "invalid", warn: "surrogate"},
	{name: "surrogate pair is fine", text: `{"type":"shutdown_request","requestId":"r","from":"w1","reason":"\ud83d\ude00","timestamp":"$T"}`, want: "shutdown_request", dialect: protocol.DialectWire,
		payload: protocol.ShutdownRequest{RequestID: "r", From: "w1", Reason: "😀", Timestamp: payloadTime}},
	{name: "surrogate in input", text: `{"type":"permission_request","request_id":"r","agent_id":"w1","tool_name":"Bash","tool_use_id":"u","description":"d","input":{"command":"\udead"},"permission_suggestions":[]}`, want: "invalid", warn: "surrogate"},

	{name: "from differs", text: `{"type":"shutdown_request","requestId":"r","from":"w2","timestamp":"$T"}`, want: "shutdown_request", dialect: protocol.DialectWire, warn: "from mismatch", mismatch: true},
	{name: "from differs in case", text: `{"type":"shutdown_request","requestId":"r","from":"W1","timestamp":"$T"}`, want: "shutdown_request", dialect: protocol.DialectWire, warn: "from mismatch", mismatch: true},
	{name: "from differs where the kind has none", text: `{"type":"permission_response","request_id":"r","subtype":"success","from":"team-lead"}`, from: "w2", want: "allow", dialect: protocol.DialectWire, warn: "from mismatch", mismatch: true},
	{name: "from of nobody", text: `{"type":"shutdown_request","requestId":"r","from":"w2","timestamp":"$T"}`, from: "-", want: "shutdown_request", dialect: protocol.DialectWire},
	{name: "from is a number", text: `{"type":"shutdown_request","requestId":"r","from":1,"timestamp":"$T"}`, want: "invalid", warn: "from is a number"},
	{name: "routing keys are let be", text: `{"type":"idle_notification","timestamp":"$T","state":"idle","teamName":"t","agentId":"w1@t","agentName":"w1"}`, want: "idle_notification", dialect: protocol.DialectCatalog, warn: "from is not in the payload"},
	{name: "routing keys name another", text: `{"type":"idle_notification","timestamp":"$T","state":"idle","agentId":"w2@t"}`, want: "idle_notification", dialect: protocol.DialectCatalog, warn: "from mismatch", mismatch: true},
	{name: "unknown key", text: `{"type":"teammate_terminated","message":"m","sessionId":"s"}`, want: "teammate_terminated", dialect: protocol.DialectWire, warn: `key "sessionId" is not known: ignored`},
	{name: "look-alike key", text: `{"type":"teammate_terminated","message":"m","Message":"s"}`, want: "teammate_terminated", dialect: protocol.DialectWire, warn: `key "Message" is not message: ignored`},
}

// permissionResponseRows: protocol §1.2.
var permissionResponseRows = []row{
	// The written forms.
	{name: "v1 success", text: `{"type":"permission_response","request_id":"r","subtype":"success","response":{"updated_input":{"a":1},"permission_updates":[{"t":1}]}}`, want: "allow", dialect: protocol.DialectWire,
		payload: protocol.PermissionResponse{RequestID: "r", Subtype: "success", Response: &protocol.PermissionGranted{UpdatedInput: raw(`{"a":1}`), PermissionUpdates: []json.RawMessage{raw(`{"t":1}`)}}}},
	{name: "v1 error", text: `{"type":"permission_response","request_id":"r","subtype":"error","error":"no"}`, want: "deny", dialect: protocol.DialectWire,
		payload: protocol.PermissionResponse{RequestID: "r", Subtype: "error", Error: "no"}},
	{name: "v0 allow", text: `{"type":"permission_response","request_id":"r","approve":true}`, want: "allow", dialect: protocol.DialectEarly,
		payload: protocol.PermissionResponse{RequestID: "r", Subtype: "success"}},
	{name: "v0 deny", text: `{"type":"permission_response","request_id":"r","approve":false}`, want: "deny", dialect: protocol.DialectEarly},
	{name: "S1 success", text: `{"type":"permission_response","requestId":"r","subtype":"success","response":{"updatedInput":{"a":1},"permissionUpdates":[{"t":1}]}}`, want: "allow", dialect: protocol.DialectProtocol,
		payload: protocol.PermissionResponse{RequestID: "r", Subtype: "success", Response: &protocol.PermissionGranted{UpdatedInput: raw(`{"a":1}`), PermissionUpdates: []json.RawMessage{raw(`{"t":1}`)}}}},
	{name: "S1 error", text: `{"type":"permission_response","requestId":"r","subtype":"error","error":"Permission denied"}`, want: "deny", dialect: protocol.DialectProtocol},
	{name: "S0 allow", text: `{"type":"permission_response","requestId":"r","timestamp":"$T","approved":true,"mode":"default"}`, want: "allow", dialect: protocol.DialectCatalog,
		payload: protocol.PermissionResponse{RequestID: "r", Subtype: "success", Mode: "default", Timestamp: payloadTime}},
	{name: "S0 allow with notes", text: `{"type":"permission_response","requestId":"r","timestamp":"$T","approved":true,"notes":"be quick"}`, want: "allow", dialect: protocol.DialectCatalog,
		payload: protocol.PermissionResponse{RequestID: "r", Subtype: "success", Notes: "be quick", Timestamp: payloadTime}},
	{name: "S0 deny", text: `{"type":"permission_response","requestId":"r","timestamp":"$T","approved":false,"mode":"locked-down","notes":"no"}`, want: "deny", dialect: protocol.DialectCatalog,
		payload: protocol.PermissionResponse{RequestID: "r", Subtype: "error", Error: "no", Mode: "locked-down", Timestamp: payloadTime}},
	{name: "v2 success", text: `{"type":"permission_response","request_id":"r","subtype":"success","tool_use_id":"u","approved_request":{"tool_use_id":"u","tool_name":"Bash","input_digest":"00"},"response":{"updated_input":{"a":1}}}`, want: "allow", dialect: protocol.DialectWire,
		payload: protocol.PermissionResponse{RequestID: "r", Subtype: "success", ToolUseID: "u", ApprovedRequest: raw(`{"tool_use_id":"u","tool_name":"Bash","input_digest":"00"}`), Response: &protocol.PermissionGranted{UpdatedInput: raw(`{"a":1}`)}}},
	{name: "v2 error", text: `{"type":"permission_response","request_id":"r","subtype":"error","tool_use_id":"u","approved_request":{"tool_use_id":"u"},"error":"Permission denied"}`, want: "deny", dialect: protocol.DialectWire},
	{name: "tool form", text: `{"type":"permission_response","request_id":"r","approve":false,"feedback":"no"}`, want: "deny", dialect: protocol.DialectTool,
		payload: protocol.PermissionResponse{RequestID: "r", Subtype: "error", Error: "no"}},
	{name: "prompt tool form", text: `{"type":"permission_response","request_id":"r","behavior":"allow","updatedInput":{"a":2}}`, want: "allow", dialect: protocol.DialectMixed, warn: "mixes dialects",
		payload: protocol.PermissionResponse{RequestID: "r", Subtype: "success", Response: &protocol.PermissionGranted{UpdatedInput: raw(`{"a":2}`)}}},
	{name: "prompt tool form, no", text: `{"type":"permission_response","request_id":"r","behavior":"deny","message":"no"}`, want: "deny", dialect: protocol.DialectMixed, warn: "mixes dialects",
		payload: protocol.PermissionResponse{RequestID: "r", Subtype: "error", Error: "no"}},

	// Every spelling of yes, alone.
	{name: "approved true", text: `{"type":"permission_response","request_id":"r","approved":true}`, want: "allow", dialect: protocol.DialectMixed, warn: "mixes dialects"},
	{name: "allow true", text: `{"type":"permission_response","request_id":"r","allow":true}`, want: "allow", dialect: protocol.DialectMixed, warn: "mixes dialects"},
	{name: "allowed true", text: `{"type":"permission_response","request_id":"r","allowed":true}`, want: "allow", dialect: protocol.DialectMixed, warn: "mixes dialects"},
	{name: "behavior allow", text: `{"type":"permission_response","request_id":"r","behavior":"allow"}`, want: "allow", dialect: protocol.DialectMixed, warn: "mixes dialects"},
	{name: "decision approve", text: `{"type":"permission_response","request_id":"r","decision":"approve"}`, want: "allow", dialect: protocol.DialectMixed, warn: "mixes dialects"},
	{name: "no response", text: `{"type":"permission_response","request_id":"r","subtype":"success"}`, want: "allow", dialect: protocol.DialectWire,
		payload: protocol.PermissionResponse{RequestID: "r", Subtype: "success"}},
	{name: "yes twice, agreeing", text: `{"type":"permission_response","request_id":"r","subtype":"success","approve":true}`, want: "allow", dialect: protocol.DialectMixed, warn: "more than once"},

	// Every spelling of no.
	{name: "approved false", text: `{"type":"permission_response","request_id":"r","approved":false}`, want: "deny", dialect: protocol.DialectMixed, warn: "mixes"},
	{name: "allow false", text: `{"type":"permission_response","request_id":"r","allow":false}`, want: "deny", dialect: protocol.DialectMixed, warn: "mixes"},
	{name: "allowed false", text: `{"type":"permission_response","request_id":"r","allowed":false}`, want: "deny", dialect: protocol.DialectMixed, warn: "mixes"},
	{name: "behavior deny", text: `{"type":"permission_response","request_id":"r","behavior":"deny"}`, want: "deny", dialect: protocol.DialectMixed, warn: "mixes"},
	{name: "behavior ask", text: `{"type":"permission_response","request_id":"r","behavior":"ask"}`, want: "deny", dialect: protocol.DialectMixed, warn: "not known"},
	{name: "decision reject", text: `{"type":"permission_response","request_id":"r","decision":"reject"}`, want: "deny", dialect: protocol.DialectMixed, warn: "mixes"},
	{name: "decision allow is not approve", text: `{"type":"permission_response","request_id":"r","decision":"allow"}`, want: "deny", dialect: protocol.DialectMixed, warn: "not known"},
	{name: "subtype unknown", text: `{"type":"permission_response","request_id":"r","subtype":"ok"}`, want: "deny", dialect: protocol.DialectWire, warn: "not known"},
	{name: "subtype Success", text: `{"type":"permission_response","request_id":"r","subtype":"Success"}`, want: "deny", dialect: protocol.DialectWire, warn: "not known"},

	// Wrong types deny.
	{name: "approved string", text: `{"type":"permission_response","requestId":"r","timestamp":"$T","approved":"true"}`, want: "deny", dialect: protocol.DialectCatalog, warn: "not a boolean"},
	{name: "approved 1", text: `{"type":"permission_response","requestId":"r","timestamp":"$T","approved":1}`, want: "deny", dialect: protocol.DialectCatalog, warn: "not a boolean"},
	{name: "approved null", text: `{"type":"permission_response","requestId":"r","timestamp":"$T","approved":null}`, want: "deny", dialect: protocol.DialectCatalog, warn: "not a boolean"},
	{name: "approved array", text: `{"type":"permission_response","requestId":"r","timestamp":"$T","approved":[true]}`, want: "deny", dialect: protocol.DialectCatalog, warn: "not a boolean"},
	{name: "subtype true", text: `{"type":"permission_response","request_id":"r","subtype":true}`, want: "deny", dialect: protocol.DialectWire, warn: "not a string"},
	{name: "behavior object", text: `{"type":"permission_response","request_id":"r","behavior":{"allow":true}}`, want: "deny", dialect: protocol.DialectMixed, warn: "not a string"},

	// Crossed arms deny.
	{name: "success and error", text: `{"type":"permission_response","request_id":"r","subtype":"success","error":"no"}`, want: "deny", dialect: protocol.DialectWire, warn: "carries an error",
		payload: protocol.PermissionResponse{RequestID: "r", Subtype: "error", Error: "no"}},
	{name: "success and empty error", text: `{"type":"permission_response","request_id":"r","subtype":"success","error":""}`, want: "deny", dialect: protocol.DialectWire, warn: "carries an error"},
	{name: "success and error object", text: `{"type":"permission_response","request_id":"r","subtype":"success","error":{}}`, want: "deny", dialect: protocol.DialectWire, warn: "carries an error"},
	{name: "success and error null", text: `{"type":"permission_response","request_id":"r","subtype":"success","error":null}`, want: "allow", dialect: protocol.DialectWire, warn: "error is null"},
	{name: "success and approve false", text: `{"type":"permission_response","request_id":"r","subtype":"success","approve":false}`, want: "deny", dialect: protocol.DialectMixed, warn: "more than once"},
	{name: "error and approve true", text: `{"type":"permission_response","request_id":"r","subtype":"error","approve":true}`, want: "deny", dialect: protocol.DialectMixed, warn: "more than once"},
	{name: "approved true and allow false", text: `{"type":"permission_response","request_id":"r","approved":true,"allow":false}`, want: "deny", dialect: protocol.DialectMixed, warn: "more than once"},
	{name: "allow false and approved true", text: `{"type":"permission_response","request_id":"r","allow":false,"approved":true}`, want: "deny", dialect: protocol.DialectMixed, warn: "more than once"},
	{name: "behavior deny and decision approve", text: `{"type":"permission_response","request_id":"r","behavior":"deny","decision":"approve"}`, want: "deny", dialect: protocol.DialectMixed, warn: "more than once"},
	{name: "error with a response", text: `{"type":"permission_response","request_id":"r","subtype":"error","error":"no","response":{"updated_input":{}}}`, want: "deny", dialect: protocol.DialectWire, warn: "response is ignored"},

	// Look-alikes never allow.
	{name: "Approved beside approved false", text: `{"type":"permission_response","requestId":"r","timestamp":"$T","approved":false,"Approved":true}`, want: "deny", dialect: protocol.DialectCatalog, warn: `key "Approved" is not approved`},
	{name: "Approved alone", text: `{"type":"permission_response","requestId":"r","Approved":true}`, want: "invalid", warn: `key "Approved" is not approved`},
	{name: "SUBTYPE alone", text: `{"type":"permission_response","request_id":"r","SUBTYPE":"success"}`, want: "invalid", warn: "no decision"},
	{name: "long s", text: `{"type":"permission_response","request_id":"r","ſubtype":"success"}`, want: "invalid", warn: "no decision"},
	{name: "Approved beside approved true", text: `{"type":"permission_response","requestId":"r","timestamp":"$T","approved":true,"Approved":false}`, want: "deny", dialect: protocol.DialectCatalog, warn: "looks like"},
	{name: "decision inside response", text: `{"type":"permission_response","request_id":"r","response":{"subtype":"success","approved":true}}`, want: "invalid", warn: "no decision"},

	// Duplicates deny, whatever they say.
	{name: "approved twice, yes first", text: `{"type":"permission_response","requestId":"r","timestamp":"$T","approved":true,"approved":false}`, want: "deny", dialect: protocol.DialectCatalog, warn: "twice"},
	{name: "approved twice, no first", text: `{"type":"permission_response","requestId":"r","timestamp":"$T","approved":false,"approved":true}`, want: "deny", dialect: protocol.DialectCatalog, warn: "twice"},
	{name: "approved twice, both yes", text: `{"type":"permission_response","requestId":"r","timestamp":"$T","approved":true,"approved":true}`, want: "deny", dialect: protocol.DialectCatalog, warn: "twice"},
	{name: "escaped duplicate", text: `{"type":"permission_response","requestId":"r","timestamp":"$T","approved":true,"\u0061pproved":true}`, want: "deny", dialect: protocol.DialectCatalog, warn: "twice"},
	{name: "duplicate inside the input", text: `{"type":"permission_response","request_id":"r","subtype":"success","response":{"updated_input":{"command":"ls","command":"rm"}}}`, want: "deny", dialect: protocol.DialectWire, warn: "twice"},
	{name: "response twice", text: `{"type":"permission_response","request_id":"r","subtype":"success","response":{},"response":{}}`, want: "deny", dialect: protocol.DialectWire, warn: "twice"},
	{name: "duplicates and no decision", text: `{"type":"permission_response","request_id":"r","a":1,"a":2}`, want: "invalid", warn: "no decision"},
	{name: "lone surrogate", text: `{"type":"permission_response","request_id":"r","subtype":"success","response":{"updated_input":{"command":"\ud800"}}}`, want: "deny", dialect: protocol.DialectWire, warn: "surrogate"},
	{name: "bad UTF-8", text: "{\"type\":\"permission_response\",\"request_id\":\"r\",\"subtype\":\"success\",\"x\":\"\xff\"}", want: "deny", dialect: protocol.DialectWire, warn: "UTF-8"},

	// The id.
	{name: "requestID", text: `{"type":"permission_response","requestID":"r","subtype":"success"}`, want: "allow", dialect: protocol.DialectMixed, warn: "mixes"},
	{name: "both ids, the same", text: `{"type":"permission_response","requestId":"r","request_id":"r","subtype":"success"}`, want: "allow", dialect: protocol.DialectMixed, warn: "*"},
	{name: "both ids, different", text: `{"type":"permission_response","requestId":"r","request_id":"s","subtype":"error"}`, want: "invalid", warn: "different requests"},
	{name: "id twice, the same", text: `{"type":"permission_response","request_id":"r","request_id":"r","subtype":"success"}`, want: "deny", dialect: protocol.DialectWire, warn: "twice"},
	{name: "id twice, different", text: `{"type":"permission_response","request_id":"r","request_id":"s","subtype":"success"}`, want: "invalid", warn: "different requests"},
	{name: "no id", text: `{"type":"permission_response","subtype":"error"}`, want: "invalid", warn: "request id is missing"},
	{name: "empty id", text: `{"type":"permission_response","request_id":"","subtype":"success"}`, want: "invalid", warn: "empty"},
	{name: "id a number", text: `{"type":"permission_response","request_id":7,"subtype":"success"}`, want: "invalid", warn: "a number"},
	{name: "id null", text: `{"type":"permission_response","request_id":null,"subtype":"success"}`, want: "invalid", warn: "null"},
	{name: "id with a lone surrogate", text: `{"type":"permission_response","request_id":"\ud800","subtype":"success"}`, want: "invalid", warn: "Unicode"},
	{name: "id in the envelope", entry: `{"from":"team-lead","text":"{\"type\":\"permission_response\",\"subtype\":\"success\"}","timestamp":"$T","metadata":{"request_id":"r"}}`, want: "allow", dialect: protocol.DialectAPI,
		payload: protocol.PermissionResponse{RequestID: "r", Subtype: "success"}},

	// updated_input.
	{name: "updated_input null", text: `{"type":"permission_response","request_id":"r","subtype":"success","response":{"updated_input":null}}`, want: "allow", dialect: protocol.DialectWire, warn: "null",
		payload: protocol.PermissionResponse{RequestID: "r", Subtype: "success"}},
	{name: "updated_input empty", text: `{"type":"permission_response","request_id":"r","subtype":"success","response":{"updated_input":{}}}`, want: "allow", dialect: protocol.DialectWire,
		payload: protocol.PermissionResponse{RequestID: "r", Subtype: "success", Response: &protocol.PermissionGranted{UpdatedInput: raw(`{}`)}}},
	{name: "updated_input array", text: `{"type":"permission_response","request_id":"r","subtype":"success","response":{"updated_input":[]}}`, want: "deny", dialect: protocol.DialectWire, warn: "updated_input is an array"},
	{name: "updated_input string", text: `{"type":"permission_response","request_id":"r","subtype":"success","response":{"updated_input":"{}"}}`, want: "deny", dialect: protocol.DialectWire, warn: "updated_input is a string"},
	{name: "updated_input false", text: `{"type":"permission_response","request_id":"r","subtype":"success","response":{"updated_input":false}}`, want: "deny", dialect: protocol.DialectWire, warn: "updated_input is a boolean"},
	{name: "updated_input twice, different", text: `{"type":"permission_response","request_id":"r","subtype":"success","response":{"updated_input":{"a":1},"updatedInput":{"a":2}}}`, want: "deny", dialect: protocol.DialectMixed, warn: "differ"},
	{name: "updated_input twice, the same", text: `{"type":"permission_response","request_id":"r","subtype":"success","response":{"updated_input":{"a":1},"updatedInput":{"a":1}}}`, want: "allow", dialect: protocol.DialectMixed, warn: "twice"},
	{name: "updated_input within and without", text: `{"type":"permission_response","request_id":"r","subtype":"success","updated_input":{"a":2},"response":{"updated_input":{"a":1}}}`, want: "deny", dialect: protocol.DialectMixed, warn: "differ"},
	{name: "updated_input keeps its bytes", text: `{"type":"permission_response","request_id":"r","subtype":"success","response":{"updated_input":{ "n":9007199254740993, "f":1.0 }}}`, want: "allow", dialect: protocol.DialectWire,
		payload: protocol.PermissionResponse{RequestID: "r", Subtype: "success", Response: &protocol.PermissionGranted{UpdatedInput: raw(`{ "n":9007199254740993, "f":1.0 }`)}}},
	{name: "response null", text: `{"type":"permission_response","request_id":"r","subtype":"success","response":null}`, want: "allow", dialect: protocol.DialectWire, warn: "response is null"},
	{name: "response string", text: `{"type":"permission_response","request_id":"r","subtype":"success","response":"yes"}`, want: "deny", dialect: protocol.DialectWire, warn: "response is a string"},
	{name: "permission_updates no array", text: `{"type":"permission_response","request_id":"r","subtype":"success","response":{"updated_input":{},"permission_updates":{}}}`, want: "allow", dialect: protocol.DialectWire, warn: "not an array"},

	// Words and the rest.
	{name: "reason", text: `{"type":"permission_response","request_id":"r","approve":false,"reason":"no"}`, want: "deny", dialect: protocol.DialectTool,
		payload: protocol.PermissionResponse{RequestID: "r", Subtype: "error", Error: "no"}},
	{name: "two reasons, different", text: `{"type":"permission_response","request_id":"r","subtype":"error","error":"no","reason":"because"}`, want: "deny", dialect: protocol.DialectMixed, warn: "differ"},
	{name: "two reasons beside a yes", text: `{"type":"permission_response","request_id":"r","approve":true,"notes":"yes","reason":"no"}`, want: "deny", dialect: protocol.DialectMixed, warn: "differ"},
	{name: "reason is a number", text: `{"type":"permission_response","request_id":"r","subtype":"error","error":5}`, want: "deny", dialect: protocol.DialectWire, warn: "not a string"},
	{name: "mode is a number", text: `{"type":"permission_response","requestId":"r","timestamp":"$T","approved":true,"mode":5}`, want: "deny", dialect: protocol.DialectCatalog, warn: "mode is a number"},
	{name: "mode unknown is kept", text: `{"type":"permission_response","requestId":"r","timestamp":"$T","approved":true,"mode":"turbo"}`, want: "allow", dialect: protocol.DialectCatalog,
		payload: protocol.PermissionResponse{RequestID: "r", Subtype: "success", Mode: "turbo", Timestamp: payloadTime}},
	{name: "tool_use_id and toolUseId", text: `{"type":"permission_response","request_id":"r","subtype":"success","tool_use_id":"u","toolUseId":"v"}`, want: "deny", dialect: protocol.DialectMixed, warn: "differ"},
	{name: "toolUseId", text: `{"type":"permission_response","request_id":"r","subtype":"success","toolUseId":"u"}`, want: "allow", dialect: protocol.DialectMixed, warn: "mixes",
		payload: protocol.PermissionResponse{RequestID: "r", Subtype: "success", ToolUseID: "u"}},
	{name: "tool_use_id a number", text: `{"type":"permission_response","request_id":"r","subtype":"success","tool_use_id":5}`, want: "deny", dialect: protocol.DialectWire, warn: "tool_use_id is a number"},
	{name: "no decision", text: `{"type":"permission_response","request_id":"r"}`, want: "invalid", warn: "no decision"},
	{name: "error text only", text: `{"type":"permission_response","request_id":"r","error":"no"}`, want: "invalid", warn: "no decision"},
	{name: "response only", text: `{"type":"permission_response","request_id":"r","response":{"updated_input":{}}}`, want: "invalid", warn: "no decision"},
}

// sandboxResponseRows: protocol §1.4.
var sandboxResponseRows = []row{
	{name: "wire", text: `{"type":"sandbox_permission_response","requestId":"r","host":"example.com","allow":true,"timestamp":"$T"}`, want: "allow", dialect: protocol.DialectWire,
		payload: protocol.SandboxPermissionResponse{RequestID: "r", Host: "example.com", Allow: true, Timestamp: payloadTime}},
	{name: "wire, no", text: `{"type":"sandbox_permission_response","requestId":"r","host":"example.com","allow":false,"timestamp":"$T"}`, want: "deny", dialect: protocol.DialectWire},
	{name: "S0", text: `{"type":"sandbox_permission_response","requestId":"r","timestamp":"$T","approved":true,"scope":"one-shot","notes":"once"}`, want: "allow", dialect: protocol.DialectCatalog, warn: "names no host",
		payload: protocol.SandboxPermissionResponse{RequestID: "r", Allow: true, Timestamp: payloadTime, Scope: "one-shot", Notes: "once"}},
	{name: "S0, no", text: `{"type":"sandbox_permission_response","requestId":"r","timestamp":"$T","approved":false}`, want: "deny", dialect: protocol.DialectCatalog, warn: "names no host"},
	{name: "request_id", text: `{"type":"sandbox_permission_response","request_id":"r","host":"h","allow":true,"timestamp":"$T"}`, want: "allow", dialect: protocol.DialectMixed, warn: "mixes"},
	{name: "approve", text: `{"type":"sandbox_permission_response","requestId":"r","host":"h","approve":true,"timestamp":"$T"}`, want: "allow", dialect: protocol.DialectMixed, warn: "mixes"},
	{name: "allowed", text: `{"type":"sandbox_permission_response","requestId":"r","host":"h","allowed":true,"timestamp":"$T"}`, want: "allow", dialect: protocol.DialectMixed, warn: "mixes"},
	{name: "hostPattern", text: `{"type":"sandbox_permission_response","requestId":"r","hostPattern":{"host":"h"},"allow":true,"timestamp":"$T"}`, want: "allow", dialect: protocol.DialectMixed, warn: "mixes",
		payload: protocol.SandboxPermissionResponse{RequestID: "r", Host: "h", Allow: true, Timestamp: payloadTime}},
	{name: "details.hostnames", text: `{"type":"sandbox_permission_response","requestId":"r","details":{"hostnames":["h"]},"approved":true,"timestamp":"$T"}`, want: "allow", dialect: protocol.DialectMixed, warn: "mixes",
		payload: protocol.SandboxPermissionResponse{RequestID: "r", Host: "h", Allow: true, Timestamp: payloadTime}},
	{name: "two hosts", text: `{"type":"sandbox_permission_response","requestId":"r","details":{"hostnames":["h","i"]},"approved":true,"timestamp":"$T"}`, want: "deny", dialect: protocol.DialectMixed, warn: "2 hosts"},
	{name: "host twice, the same", text: `{"type":"sandbox_permission_response","requestId":"r","host":"h","hostPattern":{"host":"h"},"allow":true,"timestamp":"$T"}`, want: "allow", dialect: protocol.DialectMixed, warn: "twice"},
	{name: "host twice, different", text: `{"type":"sandbox_permission_response","requestId":"r","host":"h","hostPattern":{"host":"i"},"allow":true,"timestamp":"$T"}`, want: "deny", dialect: protocol.DialectMixed, warn: "differ"},
	{name: "host key twice", text: `{"type":"sandbox_permission_response","requestId":"r","host":"h","host":"i","allow":true,"timestamp":"$T"}`, want: "deny", dialect: protocol.DialectWire, warn: "differ"},
	{name: "host a number", text: `{"type":"sandbox_permission_response","requestId":"r","host":1,"allow":true,"timestamp":"$T"}`, want: "deny", dialect: protocol.DialectWire, warn: "not a host"},
	{name: "host null", text: `{"type":"sandbox_permission_response","requestId":"r","host":null,"allow":true,"timestamp":"$T"}`, want: "deny", dialect: protocol.DialectWire, warn: "not a host"},
	{name: "allow a string", text: `{"type":"sandbox_permission_response","requestId":"r","host":"h","allow":"true","timestamp":"$T"}`, want: "deny", dialect: protocol.DialectWire, warn: "not a boolean"},
	{name: "allow and approved differ", text: `{"type":"sandbox_permission_response","requestId":"r","host":"h","allow":true,"approved":false,"timestamp":"$T"}`, want: "deny", dialect: protocol.DialectMixed, warn: "more than once"},
	{name: "allow and error", text: `{"type":"sandbox_permission_response","requestId":"r","host":"h","allow":true,"error":"x","timestamp":"$T"}`, want: "deny", dialect: protocol.DialectMixed, warn: "error"},
	{name: "Allow", text: `{"type":"sandbox_permission_response","requestId":"r","host":"h","Allow":true,"timestamp":"$T"}`, want: "invalid", warn: "no decision"},
	{name: "allow twice", text: `{"type":"sandbox_permission_response","requestId":"r","host":"h","allow":true,"allow":true,"timestamp":"$T"}`, want: "deny", dialect: protocol.DialectWire, warn: "twice"},
	{name: "no decision", text: `{"type":"sandbox_permission_response","requestId":"r","host":"h","timestamp":"$T"}`, want: "invalid", warn: "no decision"},
	{name: "no id", text: `{"type":"sandbox_permission_response","host":"h","allow":true,"timestamp":"$T"}`, want: "invalid", warn: "id is missing"},
	{name: "scope is kept", text: `{"type":"sandbox_permission_response","requestId":"r","host":"h","allow":true,"timestamp":"$T","scope":"session"}`, want: "allow", dialect: protocol.DialectWire,
		payload: protocol.SandboxPermissionResponse{RequestID: "r", Host: "h", Allow: true, Timestamp: payloadTime, Scope: "session"}},
	{name: "no timestamp", text: `{"type":"sandbox_permission_response","requestId":"r","host":"h","allow":true}`, want: "allow", dialect: protocol.DialectWire, warn: "timestamp is not in the payload",
		payload: protocol.SandboxPermissionResponse{RequestID: "r", Host: "h", Allow: true, Timestamp: envelopeTime}},
}

// planResponseRows: protocol §1.6.
var planResponseRows = []row{
	{name: "wire", text: `{"type":"plan_approval_response","requestId":"r","approved":true,"timestamp":"$T","permissionMode":"default","planDigest":"00"}`, want: "allow", dialect: protocol.DialectWire,
		payload: protocol.PlanApprovalResponse{RequestID: "r", Approved: true, Timestamp: payloadTime, PermissionMode: "default", PlanDigest: "00"}},
	{name: "wire, no", text: `{"type":"plan_approval_response","requestId":"r","approved":false,"feedback":"more tests","timestamp":"$T"}`, want: "deny", dialect: protocol.DialectWire,
		payload: protocol.PlanApprovalResponse{RequestID: "r", Feedback: "more tests", Timestamp: payloadTime}},
	{name: "feedback on a yes", text: `{"type":"plan_approval_response","requestId":"r","approved":true,"feedback":"nice","timestamp":"$T"}`, want: "allow", dialect: protocol.DialectWire,
		payload: protocol.PlanApprovalResponse{RequestID: "r", Approved: true, Feedback: "nice", Timestamp: payloadTime}},
	{name: "S0", text: `{"type":"plan_approval_response","requestId":"r","timestamp":"$T","approved":true,"notes":"ok","policy":{"permissionMode":"default"}}`, want: "allow", dialect: protocol.DialectCatalog,
		payload: protocol.PlanApprovalResponse{RequestID: "r", Approved: true, Feedback: "ok", Timestamp: payloadTime, PermissionMode: "default"}},
	{name: "S0, no", text: `{"type":"plan_approval_response","requestId":"r","timestamp":"$T","approved":false,"notes":"no"}`, want: "deny", dialect: protocol.DialectCatalog,
		payload: protocol.PlanApprovalResponse{RequestID: "r", Feedback: "no", Timestamp: payloadTime}},
	{name: "S2", text: `{"type":"plan_approval_response","requestId":"r","approve":true,"feedback":"ok","timestamp":"$T"}`, want: "allow", dialect: protocol.DialectAPI,
		payload: protocol.PlanApprovalResponse{RequestID: "r", Approved: true, Feedback: "ok", Timestamp: payloadTime}},
	{name: "S2, no", text: `{"type":"plan_approval_response","requestId":"r","approve":false,"feedback":"no"}`, want: "deny", dialect: protocol.DialectAPI, warn: "timestamp",
		payload: protocol.PlanApprovalResponse{RequestID: "r", Feedback: "no", Timestamp: envelopeTime}},
	{name: "S3", text: `{"type":"plan_approval_response","request_id":"r","approve":true,"permissionMode":"default"}`, want: "allow", dialect: protocol.DialectTool, warn: "timestamp",
		payload: protocol.PlanApprovalResponse{RequestID: "r", Approved: true, Timestamp: envelopeTime, PermissionMode: "default"}},
	{name: "S3, no", text: `{"type":"plan_approval_response","request_id":"r","approve":false,"feedback":"no"}`, want: "deny", dialect: protocol.DialectTool, warn: "timestamp"},
	{name: "allow", text: `{"type":"plan_approval_response","requestId":"r","allow":true,"timestamp":"$T"}`, want: "allow", dialect: protocol.DialectMixed, warn: "mixes"},
	{name: "allow false", text: `{"type":"plan_approval_response","requestId":"r","allow":false,"timestamp":"$T"}`, want: "deny", dialect: protocol.DialectMixed, warn: "mixes"},
	{name: "reason", text: `{"type":"plan_approval_response","requestId":"r","approved":false,"reason":"no","timestamp":"$T"}`, want: "deny", dialect: protocol.DialectMixed, warn: "mixes",
		payload: protocol.PlanApprovalResponse{RequestID: "r", Feedback: "no", Timestamp: payloadTime}},
	{name: "content", text: `{"type":"plan_approval_response","requestId":"r","approved":false,"content":"no","timestamp":"$T"}`, want: "deny", dialect: protocol.DialectMixed, warn: "mixes",
		payload: protocol.PlanApprovalResponse{RequestID: "r", Feedback: "no", Timestamp: payloadTime}},
	{name: "notes and feedback differ", text: `{"type":"plan_approval_response","requestId":"r","approved":true,"notes":"a","feedback":"b","timestamp":"$T"}`, want: "deny", dialect: protocol.DialectMixed, warn: "differ"},
	{name: "mode", text: `{"type":"plan_approval_response","requestId":"r","approved":true,"mode":"acceptEdits","timestamp":"$T"}`, want: "allow", dialect: protocol.DialectMixed, warn: "mixes",
		payload: protocol.PlanApprovalResponse{RequestID: "r", Approved: true, Timestamp: payloadTime, PermissionMode: "acceptEdits"}},
	{name: "modes differ", text: `{"type":"plan_approval_response","requestId":"r","approved":true,"permissionMode":"bypassPermissions","policy":{"permissionMode":"default"},"timestamp":"$T"}`, want: "allow", dialect: protocol.DialectMixed, warn: `the stricter one, "default"`,
		payload: protocol.PlanApprovalResponse{RequestID: "r", Approved: true, Timestamp: payloadTime, PermissionMode: "default"}},
	{name: "three modes differ", text: `{"type":"plan_approval_response","requestId":"r","approved":true,"mode":"acceptEdits","permissionMode":"plan","policy":{"permissionMode":"auto"},"timestamp":"$T"}`, want: "allow", dialect: protocol.DialectMixed, warn: `the stricter one, "plan"`,
		payload: protocol.PlanApprovalResponse{RequestID: "r", Approved: true, Timestamp: payloadTime, PermissionMode: "plan"}},
	{name: "one mode unknown", text: `{"type":"plan_approval_response","requestId":"r","approved":true,"permissionMode":"turbo","policy":{"permissionMode":"plan"},"timestamp":"$T"}`, want: "allow", dialect: protocol.DialectMixed, warn: `the stricter one, "turbo"`,
		payload: protocol.PlanApprovalResponse{RequestID: "r", Approved: true, Timestamp: payloadTime, PermissionMode: "turbo"}},
	{name: "mode on a no", text: `{"type":"plan_approval_response","requestId":"r","approved":false,"timestamp":"$T","permissionMode":"bypassPermissions"}`, want: "deny", dialect: protocol.DialectWire, warn: "ignored",
		payload: protocol.PlanApprovalResponse{RequestID: "r", Timestamp: payloadTime}},
	{name: "mode a number", text: `{"type":"plan_approval_response","requestId":"r","approved":true,"timestamp":"$T","permissionMode":0}`, want: "deny", dialect: protocol.DialectWire, warn: "permissionMode is a number"},
	{name: "approve false beside approved true", text: `{"type":"plan_approval_response","requestId":"r","approved":true,"approve":false,"timestamp":"$T"}`, want: "deny", dialect: protocol.DialectMixed, warn: "more than once"},
	{name: "subtype error beside approved", text: `{"type":"plan_approval_response","requestId":"r","approved":true,"subtype":"error","timestamp":"$T"}`, want: "deny", dialect: protocol.DialectMixed, warn: "more than once"},
	{name: "approved a string", text: `{"type":"plan_approval_response","requestId":"r","approved":"yes","timestamp":"$T"}`, want: "deny", dialect: protocol.DialectWire, warn: "not a boolean"},
	{name: "APPROVED", text: `{"type":"plan_approval_response","requestId":"r","APPROVED":true,"timestamp":"$T"}`, want: "invalid", warn: "no decision"},
	{name: "approved twice", text: `{"type":"plan_approval_response","requestId":"r","approved":false,"approved":true,"timestamp":"$T"}`, want: "deny", dialect: protocol.DialectWire, warn: "twice"},
	{name: "no decision", text: `{"type":"plan_approval_response","requestId":"r","feedback":"looks good","timestamp":"$T"}`, want: "invalid", warn: "no decision"},
	{name: "no id", text: `{"type":"plan_approval_response","approved":true,"timestamp":"$T"}`, want: "invalid", warn: "id is missing"},
	{name: "ids differ", text: `{"type":"plan_approval_response","requestId":"r","request_id":"s","approved":false,"timestamp":"$T"}`, want: "invalid", warn: "different requests"},
}

// shutdownAnswerRows: protocol §1.10 and §1.11.
var shutdownAnswerRows = []row{
	{name: "approved, pane worker", text: `{"type":"shutdown_approved","requestId":"r","from":"w1","timestamp":"$T","paneId":"%7","backendType":"tmux"}`, want: "allow", dialect: protocol.DialectWire,
		payload: protocol.ShutdownApproved{RequestID: "r", From: "w1", Timestamp: payloadTime, PaneID: "%7", BackendType: "tmux"}},
	{name: "approved, outside member", text: `{"type":"shutdown_approved","requestId":"r","from":"w1","timestamp":"$T"}`, want: "allow", dialect: protocol.DialectWire},
	{name: "approved, S0", text: `{"type":"shutdown_approved","requestId":"r","timestamp":"$T"}`, want: "allow", dialect: protocol.DialectCatalog, warn: "from is not in the payload",
		payload: protocol.ShutdownApproved{RequestID: "r", From: "w1", Timestamp: payloadTime}},
	{name: "approved, S2", text: `{"type":"shutdown_approved","requestId":"r","paneId":"%88","backendType":"tmux","timestamp":"$T"}`, want: "allow", dialect: protocol.DialectAPI, warn: "from",
		payload: protocol.ShutdownApproved{RequestID: "r", From: "w1", Timestamp: payloadTime, PaneID: "%88", BackendType: "tmux"}},
	{name: "approved, S2 without a time", text: `{"type":"shutdown_approved","requestId":"r","paneId":"%88","backendType":"tmux"}`, want: "allow", dialect: protocol.DialectAPI, warn: "timestamp"},
	{name: "approved, request_id", text: `{"type":"shutdown_approved","request_id":"r","from":"w1","timestamp":"$T"}`, want: "allow", dialect: protocol.DialectMixed, warn: "mixes"},
	{name: "approved, pane_id and backend_type", text: `{"type":"shutdown_approved","requestId":"r","from":"w1","timestamp":"$T","pane_id":"%7","backend_type":"tmux"}`, want: "allow", dialect: protocol.DialectMixed, warn: "mixes",
		payload: protocol.ShutdownApproved{RequestID: "r", From: "w1", Timestamp: payloadTime, PaneID: "%7", BackendType: "tmux"}},
	{name: "approved, tmuxPaneId", text: `{"type":"shutdown_approved","requestId":"r","from":"w1","timestamp":"$T","tmuxPaneId":"%7"}`, want: "allow", dialect: protocol.DialectMixed, warn: "mixes",
		payload: protocol.ShutdownApproved{RequestID: "r", From: "w1", Timestamp: payloadTime, PaneID: "%7"}},
	{name: "approved, sessionId", text: `{"type":"shutdown_approved","requestId":"r","from":"w1","timestamp":"$T","sessionId":"s"}`, want: "allow", dialect: protocol.DialectWire, warn: "sessionId"},
	{name: "approved, panes differ", text: `{"type":"shutdown_approved","requestId":"r","from":"w1","timestamp":"$T","paneId":"%7","tmuxPaneId":"%8"}`, want: "deny", dialect: protocol.DialectMixed, warn: "differ"},
	{name: "approved, saying no", text: `{"type":"shutdown_approved","requestId":"r","from":"w1","timestamp":"$T","approved":false}`, want: "deny", dialect: protocol.DialectMixed, warn: "the type says yes"},
	{name: "approved, saying yes", text: `{"type":"shutdown_approved","requestId":"r","from":"w1","timestamp":"$T","approved":true}`, want: "allow", dialect: protocol.DialectMixed, warn: "mixes"},
	{name: "approved, with an error", text: `{"type":"shutdown_approved","requestId":"r","from":"w1","timestamp":"$T","error":"busy"}`, want: "deny", dialect: protocol.DialectMixed, warn: "error",
		payload: protocol.ShutdownRejected{RequestID: "r", From: "w1", Reason: "busy", Timestamp: payloadTime}},
	{name: "approved, a key twice", text: `{"type":"shutdown_approved","requestId":"r","from":"w1","timestamp":"$T","timestamp":"$T"}`, want: "deny", dialect: protocol.DialectWire, warn: "twice",
		payload: protocol.ShutdownRejected{RequestID: "r", From: "w1", Timestamp: payloadTime}},
	{name: "approved, id twice, different", text: `{"type":"shutdown_approved","requestId":"r","requestId":"s","from":"w1","timestamp":"$T"}`, want: "invalid", warn: "different requests"},
	{name: "approved, no id", text: `{"type":"shutdown_approved","from":"w1","timestamp":"$T"}`, want: "invalid", warn: "id is missing"},
	{name: "approved for somebody else", text: `{"type":"shutdown_approved","requestId":"r","from":"w2","timestamp":"$T"}`, want: "allow", dialect: protocol.DialectWire, warn: "from mismatch", mismatch: true},

	{name: "rejected", text: `{"type":"shutdown_rejected","requestId":"r","from":"w1","reason":"still busy","timestamp":"$T"}`, want: "deny", dialect: protocol.DialectWire,
		payload: protocol.ShutdownRejected{RequestID: "r", From: "w1", Reason: "still busy", Timestamp: payloadTime}},
	{name: "rejected, S0", text: `{"type":"shutdown_rejected","requestId":"r","timestamp":"$T"}`, want: "deny", dialect: protocol.DialectCatalog, warn: "from"},
	{name: "rejected, S0 with a reason", text: `{"type":"shutdown_rejected","requestId":"r","timestamp":"$T","reason":"busy"}`, want: "deny", dialect: protocol.DialectCatalog, warn: "from"},
	{name: "rejected, content", text: `{"type":"shutdown_rejected","requestId":"r","from":"w1","content":"busy","timestamp":"$T"}`, want: "deny", dialect: protocol.DialectMixed, warn: "mixes",
		payload: protocol.ShutdownRejected{RequestID: "r", From: "w1", Reason: "busy", Timestamp: payloadTime}},
	{name: "rejected, notes", text: `{"type":"shutdown_rejected","requestId":"r","from":"w1","notes":"busy","timestamp":"$T"}`, want: "deny", dialect: protocol.DialectMixed, warn: "mixes",
		payload: protocol.ShutdownRejected{RequestID: "r", From: "w1", Reason: "busy", Timestamp: payloadTime}},
	{name: "rejected, feedback", text: `{"type":"shutdown_rejected","requestId":"r","from":"w1","feedback":"busy","timestamp":"$T"}`, want: "deny", dialect: protocol.DialectMixed, warn: "mixes",
		payload: protocol.ShutdownRejected{RequestID: "r", From: "w1", Reason: "busy", Timestamp: payloadTime}},
	{name: "rejected, saying yes", text: `{"type":"shutdown_rejected","requestId":"r","from":"w1","reason":"x","timestamp":"$T","approved":true}`, want: "deny", dialect: protocol.DialectMixed, warn: "the type says no"},
	{name: "rejected, with a pane", text: `{"type":"shutdown_rejected","requestId":"r","from":"w1","reason":"x","timestamp":"$T","paneId":"%1"}`, want: "deny", dialect: protocol.DialectMixed, warn: "paneId and backendType"},

	{name: "response, S4 yes", text: `{"type":"shutdown_response","requestId":"r","approved":true}`, want: "allow", dialect: protocol.DialectLegacy, warn: "from is not in the payload",
		payload: protocol.ShutdownApproved{RequestID: "r", From: "w1", Timestamp: envelopeTime}},
	{name: "response, S4 no", text: `{"type":"shutdown_response","requestId":"r","approved":false,"content":"busy"}`, want: "deny", dialect: protocol.DialectLegacy, warn: "from",
		payload: protocol.ShutdownRejected{RequestID: "r", From: "w1", Reason: "busy", Timestamp: envelopeTime}},
	{name: "response, tool yes", text: `{"type":"shutdown_response","request_id":"r","approve":true}`, want: "allow", dialect: protocol.DialectLegacy, warn: "*"},
	{name: "response, tool no", text: `{"type":"shutdown_response","request_id":"r","approve":false,"reason":"busy"}`, want: "deny", dialect: protocol.DialectLegacy, warn: "*",
		payload: protocol.ShutdownRejected{RequestID: "r", From: "w1", Reason: "busy", Timestamp: envelopeTime}},
	{name: "response, crossed", text: `{"type":"shutdown_response","requestId":"r","approved":true,"approve":false}`, want: "deny", dialect: protocol.DialectLegacy, warn: "more than once"},
	{name: "response, a string", text: `{"type":"shutdown_response","requestId":"r","approved":"true"}`, want: "deny", dialect: protocol.DialectLegacy, warn: "not a boolean"},
	{name: "response, twice", text: `{"type":"shutdown_response","requestId":"r","approved":true,"approved":true}`, want: "deny", dialect: protocol.DialectLegacy, warn: "twice"},
	{name: "response, no decision", text: `{"type":"shutdown_response","requestId":"r"}`, want: "invalid", warn: "no decision"},
	{name: "response, Approve", text: `{"type":"shutdown_response","requestId":"r","Approve":true}`, want: "invalid", warn: "no decision"},
}
