// Package schema holds JSON Schemas (draft 2020-12) of what waggle writes: one
// for the payload of every kind in the wire form, one for the envelope.
//
//	s, err := schema.For(protocol.KindPermissionRequest) // made from protocol.Fields
//	b, err := schema.Files.ReadFile("permission_request.schema.json")
//
// They describe the canonical form only (protocol §1, "Canonical write"). Keys that
// are not listed are allowed, as they are on the wire. A reader should not
// validate foreign messages with them: protocol.Decode understands every dialect,
// and knows contradictions that a schema cannot see.
package schema

import (
	"embed"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"waggle/protocol"
)

//go:generate go run ./gen

// Files holds the schemas as text: <kind>.schema.json and envelope.schema.json.
//
//go:embed *.schema.json
var Files embed.FS

const (
	draft  = "https://json-schema.org/draft/2020-12/schema"
	prefix = "urn:waggle:schema:"

	timePattern = `^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})$`
)

// Kinds lists the kinds that have a schema, in the order of protocol.Kinds.
// SystemInit has none: it is a label on an envelope, not a payload.
func Kinds() []protocol.Kind {
	var list []protocol.Kind
	for _, info := range protocol.Kinds() {
		if protocol.Fields(info.Kind) != nil {
			list = append(list, info.Kind)
		}
	}
	return list
}

// For makes the schema of a kind's payload. It fails for a kind that is not a
// payload of its own.
func For(kind protocol.Kind) (*jsonschema.Schema, error) {
	fields := protocol.Fields(kind)
	if fields == nil {
		return nil, fmt.Errorf("schema: kind %q has no payload schema", kind)
	}
	s := of(kind, fields)
	name(s, string(kind))
	for _, info := range protocol.Kinds() {
		if info.Kind == kind {
			s.Description = info.Meaning + " See docs/protocol.md §" + info.Section + "."
		}
	}
	return s, nil
}

// Envelope makes the schema of one entry of a mailbox (protocol §2.1). A payload is a string in
// its text. A test holds the keys against protocol.Envelope.
func Envelope() *jsonschema.Schema {
	s := object()
	for _, f := range []struct {
		key, typ string
		required bool
	}{
		{"from", "string", true},
		{"text", "string", true},
		{"summary", "string", false},
		{"timestamp", "string", true},
		{"color", "string", false},
		{"msgV", "integer", false},
		{"msg_id", "string", false},
		{"type", "string", false},
		{"read", "boolean", false}, // absent is false
	} {
		put(s, f.key, &jsonschema.Schema{Type: f.typ}, f.required)
	}
	s.Properties["timestamp"].Pattern = timePattern
	name(s, "envelope")
	s.Description = "One entry of a mailbox. See docs/protocol.md §2.1."
	return s
}

func name(s *jsonschema.Schema, what string) {
	s.Schema, s.ID, s.Title = draft, prefix+what, what
}
