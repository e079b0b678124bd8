package protocol_test

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/test/protocoltest"
	"waggle/internal/test/testenv"
	"waggle/protocol"
)

// TestMutations is a table of what readers make of each written field when it is
// missing, spelled in another case, or of another type: testdata/mutations.txt. It is
// written anew with: go test ./protocol -run TestMutations -update.
//
// same: the reader has it from elsewhere or does not need it; said: the same, with a
// warning; changed: another payload, with a warning unless the row says silent; denied:
// an answer that is read as a no; invalid: no effect; text, unknown: words.
func TestMutations(t *testing.T) {
	const file = "testdata/mutations.txt"
	var b strings.Builder
	seen := map[protocol.Kind]map[string]bool{}
	for _, p := range written() {
		text, err := protocol.Encode(p, protocol.DialectWire)
		testenv.Must(t, err)
		mutateFrame(t, &b, seen, protocol.DialectWire, text)
	}
	for _, shape := range seed000 {
		text := strings.ReplaceAll(shape, "$T", payloadTime)
		mutateFrame(t, &b, seen, protocol.DialectCatalog, text[:len(text)-1]+`,"teamName":"ours","agentId":"w1@ours","agentName":"w1"}`)
	}
	for _, p := range protocoltest.Samples() {
		for _, key := range tagsOf(reflect.TypeOf(p)) {
			if kind := p.Kind(); inTable(kind) && !seen[kind][key] && !readOnly[string(kind)+" "+key] {
				t.Errorf("%s of a %s is in no row", key, kind)
			}
		}
	}
	mutateEnvelope(t, &b)
	want, err := os.ReadFile(file)
	if err != nil && !*update {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" && !*update {
		t.Errorf("%s differs (-want +got):\n%s", file, diff)
	}
	if *update {
		testenv.Must(t, os.WriteFile(file, []byte(b.String()), 0o666))
	}
}

// inTable reports a kind whose fields are mutated: words and prompts have none.
func inTable(kind protocol.Kind) bool {
	return kind != protocol.KindText && kind != protocol.KindUnknown && kind != protocol.KindSystemInit
}

// written are payloads of every kind in the wire form that have, together, every field.
func written() (list []protocol.Payload) {
	for _, p := range protocoltest.Samples() {
		if inTable(p.Kind()) {
			list = append(list, p)
		}
	}
	return append(list,
		protocol.PermissionResponse{RequestID: "r", Subtype: protocol.SubtypeError, ToolUseID: "u", Error: "no"},
		protocol.SandboxPermissionResponse{RequestID: "r", Host: "example.com", Timestamp: payloadTime, Scope: "session", Notes: "no"},
		protocol.TeamPermissionUpdate{PermissionUpdate: protocol.PermissionUpdate{Behavior: "allow", Rules: []protocol.PermissionRule{},
			RemovedRules: []protocol.PermissionRule{{ToolName: "Edit"}}}, PolicyVersion: 8},
	)
}

// readOnly are the fields that no dialect writes, and alsoDeny, which is the second list
// of rules.
var readOnly = map[string]bool{
	"plan_approval_request summary": true, "plan_approval_response planDigest": true, "permission_response approved_request": true,
	"sandbox_permission_request hosts": true, "team_permission_update alsoDeny": true,
}

// tagsOf lists the fields of a payload by their names in JSON.
func tagsOf(t reflect.Type) (keys []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			keys = append(keys, tagsOf(f.Type)...)
			continue
		}
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		keys = append(keys, key)
	}
	return keys
}

// otherForm are fields whose other type is a form that some writer uses.
var otherForm = map[string]bool{
	"sandbox_permission_request timestamp":         true, // milliseconds
	"sandbox_permission_request details.hostnames": true, // one host
	"plan_approval_request plan":                   true, // seeds 002 and 004 have text
	"join_request capabilities":                    true, // anything
}

func mutateFrame(t *testing.T, b *strings.Builder, seen map[protocol.Kind]map[string]bool, dialect protocol.Dialect, text string) {
	read := func(text string) protocol.Decoded {
		return protocol.Decode(protocol.Envelope{From: sender(text), Text: text, Timestamp: payloadTime})
	}
	whole := read(text)
	kind, name := whole.Kind, string(whole.Kind)
	if r, ok := whole.Payload.(protocol.PermissionResponse); ok && !r.Allowed() {
		name += " (no)"
	}
	if r, ok := whole.Payload.(protocol.SandboxPermissionResponse); ok && !r.Allow {
		name += " (no)"
	}
	if seen[kind] == nil {
		seen[kind] = map[string]bool{}
	}
	for _, path := range protocoltest.Keys(text) {
		seen[kind][path[strings.LastIndexByte(path, '.')+1:]] = true
		for _, m := range protocoltest.Mutations {
			bad := m.Of(text, path)
			d := read(bad)
			how := verdict(whole, d)
			fmt.Fprintf(b, "%-12s %-32s %-34s %-8s %s\n", dialect, name, path, m.Name, how)
			if widens(whole, d) {
				t.Errorf("%s %s %s: a no became a yes:\n%s", kind, path, m.Name, bad)
			}
			if how == "changed, silent" && m.Name != "dropped" && !otherForm[string(kind)+" "+path] {
				t.Errorf("%s %s %s changes what is read and is not said:\n%s", kind, path, m.Name, bad)
			}
		}
	}
}

// sender is who a sample is from.
func sender(text string) string {
	if strings.Contains(text, `"from":"team-lead"`) || strings.Contains(text, `"assignedBy":"team-lead"`) {
		return "team-lead"
	}
	return "w1"
}

func verdict(whole, d protocol.Decoded) string {
	switch {
	case d.Kind == protocol.KindInvalid:
		return "invalid"
	case d.Kind == protocol.KindText || d.Kind == protocol.KindUnknown:
		return string(d.Kind)
	case yes(whole.Payload) && !yes(d.Payload):
		return "denied"
	case !cmp.Equal(whole.Payload, d.Payload) && len(d.Warnings) > len(whole.Warnings):
		return "changed"
	case !cmp.Equal(whole.Payload, d.Payload):
		return "changed, silent"
	case len(d.Warnings) > len(whole.Warnings):
		return "said"
	}
	return "same"
}

func widens(whole, d protocol.Decoded) bool { return !yes(whole.Payload) && yes(d.Payload) }

// mutateEnvelope does the same to the entry around a frame.
func mutateEnvelope(t *testing.T, b *strings.Builder) {
	e := protocol.Envelope{From: "w1", Text: "words", Summary: "s", Timestamp: payloadTime, Color: "blue", MsgV: 1, MsgID: "m-1", Type: "message", Read: true}
	e, err := e.With("metadata", json.RawMessage(`{"priority":"high"}`))
	testenv.Must(t, err)
	if e, err = e.WithMessageID(); err != nil {
		t.Fatal(err)
	}
	raw, err := e.MarshalJSON()
	testenv.Must(t, err)
	fields := func(e protocol.Envelope) string {
		metadata, _ := e.Member("metadata")
		return fmt.Sprint(e.From, e.Text, e.Summary, e.Timestamp, e.Color, e.MsgV, e.MsgID, e.Type, e.Read, string(metadata))
	}
	for _, key := range protocoltest.Keys(string(raw)) {
		for _, m := range protocoltest.Mutations {
			got, err := protocol.ParseEnvelope([]byte(m.Of(string(raw), key)))
			how := "same"
			switch {
			case err != nil:
				how = "invalid"
			case fields(got) != fields(e):
				how = "changed, silent"
			}
			fmt.Fprintf(b, "%-12s %-32s %-34s %-8s %s\n", "envelope", "entry", key, m.Name, how)
		}
	}
}
