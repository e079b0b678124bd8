package schema_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	google "github.com/google/jsonschema-go/jsonschema"
	tekuri "github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"waggle/internal/test/protocoltest"
	"waggle/internal/test/testenv"
	_ "waggle/internal/test/testenv/seeded"
	"waggle/protocol"
	"waggle/schema"
)

// TestFilesAreCurrent: the checked-in schemas are what the Go types make.
func TestFilesAreCurrent(t *testing.T) {
	want, err := schema.Render()
	testenv.Must(t, err)
	entries, err := schema.Files.ReadDir(".")
	testenv.Must(t, err)
	for _, e := range entries {
		got, err := schema.Files.ReadFile(e.Name())
		testenv.Must(t, err)
		if diff := cmp.Diff(string(want[e.Name()]), string(got)); diff != "" {
			t.Errorf("%s is not current, run go generate ./schema\n%s", e.Name(), diff)
		}
		delete(want, e.Name())
	}
	for name := range want {
		t.Errorf("%s is missing, run go generate ./schema", name)
	}
}

func TestKinds(t *testing.T) {
	for _, info := range protocol.Kinds() {
		has := slices.Contains(schema.Kinds(), info.Kind)
		if want := info.Kind != protocol.KindSystemInit; has != want {
			t.Errorf("%s: has a schema %v, want %v", info.Kind, has, want)
		}
	}
	for _, kind := range []protocol.Kind{protocol.KindText, protocol.KindUnknown, protocol.KindInvalid, protocol.KindSystemInit, "x"} {
		if _, err := schema.For(kind); err == nil {
			t.Errorf("%s has a schema", kind)
		}
	}
}

// TestEnvelopeHasEveryField: the schema of an envelope names the keys that an envelope writes.
func TestEnvelopeHasEveryField(t *testing.T) {
	s := schema.Envelope()
	var e protocol.Envelope
	v := reflect.ValueOf(&e).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); {
		case !v.Type().Field(i).IsExported():
		case f.Kind() == reflect.String:
			f.SetString("x")
		case f.Kind() == reflect.Int:
			f.SetInt(1)
		case f.Kind() == reflect.Bool:
			f.SetBool(true)
		default:
			t.Fatalf("field %s", v.Type().Field(i).Name)
		}
	}
	raw, err := e.MarshalJSON()
	testenv.Must(t, err)
	var written map[string]any
	testenv.Must(t, json.Unmarshal(raw, &written))
	if diff := cmp.Diff(slices.Sorted(maps.Keys(written)), slices.Sorted(maps.Keys(s.Properties))); diff != "" {
		t.Error(diff)
	}
}

// validator checks one text against a checked-in schema with two independent
// implementations, which must agree.
type validator struct {
	google *google.Resolved
	tekuri *tekuri.Schema
}

func load(t *testing.T, name string) validator {
	t.Helper()
	raw, err := schema.Files.ReadFile(name + ".schema.json")
	testenv.Must(t, err)
	var s google.Schema
	testenv.Must(t, json.Unmarshal(raw, &s))
	if s.Schema != "https://json-schema.org/draft/2020-12/schema" || s.ID != "urn:waggle:schema:"+name {
		t.Errorf("%s: $schema %s, $id %s", name, s.Schema, s.ID)
	}
	resolved, err := s.Resolve(nil)
	testenv.Must(t, err)
	doc, err := tekuri.UnmarshalJSON(bytes.NewReader(raw))
	testenv.Must(t, err)
	c := tekuri.NewCompiler()
	testenv.Must(t, c.AddResource(s.ID, doc))
	compiled, err := c.Compile(s.ID)
	testenv.Must(t, err)
	return validator{resolved, compiled}
}

// fataler is what testing's and rapid's tests have in common.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func (v validator) valid(t fataler, text string) bool {
	t.Helper()
	var x any
	if err := json.Unmarshal([]byte(text), &x); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	y, err := tekuri.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	one, two := v.google.Validate(x), v.tekuri.Validate(y)
	if (one == nil) != (two == nil) {
		t.Fatalf("the validators disagree on %s: %v, %v", text, one, two)
	}
	return one == nil
}

// TestEncodedIsValid: every payload that Encode writes is valid, and none is
// when a required key is missing, null, or the type is another's.
func TestEncodedIsValid(t *testing.T) {
	for _, kind := range schema.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			v := load(t, string(kind))
			sample, err := protocol.Encode(protocoltest.Sample(kind), protocol.DialectWire)
			testenv.Must(t, err)
			if !v.valid(t, sample) {
				t.Errorf("%s is not valid", sample)
			}
			if !v.valid(t, strings.Replace(sample, "{", `{"x-new":1,`, 1)) {
				t.Error("a further key is not allowed")
			}
			s, err := schema.For(kind)
			testenv.Must(t, err)
			for _, key := range s.Required {
				for what, bad := range map[string]string{"missing": without(t, sample, key, ""), "null": without(t, sample, key, "null"), "wrong": without(t, sample, key, `-7`)} {
					if v.valid(t, bad) {
						t.Errorf("%s is %s, and yet it is valid: %s", key, what, bad)
					}
				}
			}
			if v.valid(t, without(t, sample, "type", `"lunch_request"`)) || v.valid(t, `[]`) || v.valid(t, `null`) {
				t.Error("another type is valid")
			}
			rapid.Check(t, func(t *rapid.T) {
				text, err := protocol.Encode(protocoltest.Payload(kind).Draw(t, "payload"), protocol.DialectWire)
				testenv.Must(t, err)
				if strings.Contains(text, "1e400") {
					return // beyond what Go's own decoder reads
				}
				if !v.valid(t, text) {
					t.Fatalf("%s is not valid", text)
				}
			})
		})
	}
}

// without sets a top-level key to a value, or removes it.
func without(t *testing.T, text, key, value string) string {
	t.Helper()
	var m map[string]json.RawMessage
	testenv.Must(t, json.Unmarshal([]byte(text), &m))
	delete(m, key)
	if value != "" {
		m[key] = json.RawMessage(value)
	}
	out, err := json.Marshal(m)
	testenv.Must(t, err)
	return string(out)
}

// TestInvalid: the schemas refuse texts that a reader of the canonical form would misread or
// refuse.
func TestInvalid(t *testing.T) {
	for _, tc := range []struct{ kind, text string }{
		{"permission_request", `{"type":"permission_request","request_id":"r","agent_id":"w1@ours","tool_name":"Bash","tool_use_id":"u","description":"d","input":{},"permission_suggestions":[]}`},
		{"permission_request", `{"type":"permission_request","request_id":"r","agent_id":"w1","tool_name":"Bash","tool_use_id":"u","description":"d","input":"ls","permission_suggestions":[]}`},
		{"permission_request", `{"type":"permission_request","request_id":"","agent_id":"w1","tool_name":"Bash","tool_use_id":"u","description":"d","input":{},"permission_suggestions":[]}`},
		{"permission_request", `{"type":"permission_request","requestId":"r","agentId":"w1","toolName":"Bash","toolUseId":"u","description":"d","input":{},"permissionSuggestions":[]}`},
		{"permission_response", `{"type":"permission_response","request_id":"r","subtype":"success"}`},
		{"permission_response", `{"type":"permission_response","request_id":"r","subtype":"success","response":{"updated_input":null}}`},
		{"permission_response", `{"type":"permission_response","request_id":"r","subtype":"success","response":{}}`},
		{"permission_response", `{"type":"permission_response","request_id":"r","subtype":"success","response":{"updated_input":{}},"error":"no"}`},
		{"permission_response", `{"type":"permission_response","request_id":"r","subtype":"error"}`},
		{"permission_response", `{"type":"permission_response","request_id":"r","subtype":"ok","error":"no"}`},
		{"permission_response", `{"type":"permission_response","request_id":"r","approve":true}`},
		{"sandbox_permission_request", `{"type":"sandbox_permission_request","requestId":"r","workerId":"w1","workerName":"w1","hostPattern":{"host":"h"},"createdAt":"2026-11-20T18:15:43.000Z"}`},
		{"sandbox_permission_request", `{"type":"sandbox_permission_request","requestId":"r","workerId":"w1","workerName":"w1","hostPattern":{},"createdAt":1}`},
		{"sandbox_permission_request", `{"type":"sandbox_permission_request","requestId":"r","workerId":"w1","workerName":"w1","hostPattern":{"host":"h"},"createdAt":-1}`},
		{"sandbox_permission_response", `{"type":"sandbox_permission_response","requestId":"r","host":"h","approved":true,"timestamp":"2026-11-20T18:15:43.000Z"}`},
		{"plan_approval_response", `{"type":"plan_approval_response","requestId":"r","approved":"true","timestamp":"2026-11-20T18:15:43.000Z"}`},
		{"plan_approval_response", `{"type":"plan_approval_response","requestId":"r","approved":true,"timestamp":"yesterday"}`},
		{"team_permission_update", `{"type":"team_permission_update","toolName":"","directoryPath":"","permissionUpdate":{"behavior":"permit","rules":[]}}`},
		{"team_permission_update", `{"type":"team_permission_update","toolName":"","directoryPath":"","permissionUpdate":{"behavior":"allow","rules":[{"ruleContent":"x"}]}}`},
		{"idle_notification", `{"type":"idle_notification","from":"w1","timestamp":"2026-11-20T18:15:43.000Z","idleReason":"coffee"}`},
		{"task_progress", `{"type":"task_progress","requestId":"1","timestamp":"2026-11-20T18:15:43.000Z","progress":{"phase":"resting","message":"m"}}`},
		{"task_completed", `{"type":"task_completed","from":"w1","taskId":"1","timestamp":"2026-11-20T18:15:43.000Z","result":{"summary":"s","artifacts":null,"errors":[]}}`},
		{"envelope", `{"from":"a","text":"b"}`},
		{"envelope", `{"from":"a","text":{"type":"x"},"timestamp":"2026-11-20T18:15:43.000Z"}`},
		{"envelope", `{"from":"a","text":"b","timestamp":"2026-11-20T18:15:43.000Z","read":"no"}`},
		{"envelope", `{"from":"a","text":"b","timestamp":"2026-11-20T18:15:43.000Z","color":null}`},
	} {
		if load(t, tc.kind).valid(t, tc.text) {
			t.Errorf("%s is valid", tc.text)
		}
	}
}

func TestEnvelopeIsValid(t *testing.T) {
	v := load(t, "envelope")
	for _, e := range []protocol.Envelope{
		{From: "w1", Text: "hi", Timestamp: protocoltest.At},
		{From: "w1", Text: "hi", Summary: "s", Timestamp: protocoltest.At, Color: "blue", MsgV: 1, MsgID: "m", Type: "message", Read: true},
	} {
		if text := string(e.AppendJSON(nil)); !v.valid(t, text) {
			t.Errorf("%s is not valid", text)
		}
	}
	if text := `{"from":"a","text":"b","timestamp":"2026-11-20T18:15:43.000Z","lead_sig":"x","metadata":{}}`; !v.valid(t, text) {
		t.Errorf("%s is not valid", text)
	}
}
