package schema_test

import (
	"slices"
	"testing"

	"waggle/protocol"
	"waggle/schema"
)

// TestAddedFieldIsFollowed: a field that is added to those of a kind is part of its schema.
func TestAddedFieldIsFollowed(t *testing.T) {
	fields := append(protocol.Fields(protocol.KindTaskProgress), protocol.Field{
		Name: "look.colour", Type: protocol.FieldText, Always: true, Required: true, NotEmpty: true, Choices: []string{"red", "blue"},
	})
	s := schema.Of(protocol.KindTaskProgress, fields)
	look := s.Properties["look"]
	if look == nil || !slices.Contains(s.Required, "look") || !slices.Contains(look.Required, "colour") {
		t.Fatalf("the schema lacks the field: %v", s.Required)
	}
	colour := look.Properties["colour"]
	if colour.Type != "string" || *colour.MinLength != 1 || !slices.Equal(colour.Enum, []any{"red", "blue"}) {
		t.Errorf("its schema is %+v", colour)
	}
	fields[len(fields)-1].ReadOnly = true
	if schema.Of(protocol.KindTaskProgress, fields).Properties["look"] != nil {
		t.Error("a field that is only read is part of the schema")
	}
}
